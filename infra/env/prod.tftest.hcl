# What env/prod.tfvars.example deploys: terraform test -test-directory=env -filter=env/prod.tftest.hcl -var-file=env/prod.tfvars.example

mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  functions_zip = "./tests/functions.zip"
  page_folder   = "./tests/page"
}

run "deployed" {
  command = apply

  assert {
    condition     = !local.destroys && var.object_lock && var.locked_days == 90 && local.bucket_key != null
    error_message = "Backups are less protected than they can be."
  }

  assert {
    condition     = toset(keys(local.destinations)) == toset(["region", "recovery"]) && length(module.logs) == 1
    error_message = "There are no copies, or nobody sees who asked for what."
  }

  assert {
    condition     = output.page_url == "https://backup.example.org" && output.gateway_url == output.page_url
    error_message = "Page and gateway are not at their name."
  }
}

# What was made is destroyed at the end, which the protection would refuse.
run "given_up" {
  command = apply

  variables {
    destroy_backups    = true
    destroy_backups_in = "example-copal"
  }

  assert {
    condition     = local.destroys
    error_message = "Backups cannot be destroyed at all."
  }
}
