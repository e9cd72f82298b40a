mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  region            = "eu-central-1"
  bucket            = "example-copal"
  owner_fingerprint = "ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45"
  functions_zip     = "./tests/functions.zip"
  operators         = ["arn:aws:iam::111122223333:role/operator"]
}

run "hello" {
  command = apply
  assert {
    condition     = jsondecode(module.events.rights[0].Resource == "x" ? "1" : "2") == 2
    error_message = "x"
  }
}
run "destroy" {
  variables {
    destroy_backups    = true
    destroy_backups_in = "example-copal"
  }
}
