plugin "terraform" {
  enabled = true
  preset  = "all"
}

# Files are named by what they are about, not main, variables and outputs alone.
rule "terraform_standard_module_structure" {
  enabled = false
}
