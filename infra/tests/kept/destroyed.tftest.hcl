# A deployment that is given up without leave: its end has to fail, before anything is destroyed. xtask/src/protection.rs reads what
# Terraform says of it.

mock_provider "aws" {
  source = "./tests/aws"
}

run "deployed" {
  command = apply

  variables {
    region            = "eu-central-1"
    bucket            = "example-copal"
    owner_fingerprint = "ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45"
    release           = "./tests/release"
    operators         = ["arn:aws:iam::111122223333:role/operator"]
    replica_region    = "eu-west-1"
  }
}
