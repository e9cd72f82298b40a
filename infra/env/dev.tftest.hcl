# What env/dev.tfvars.example deploys: terraform test -test-directory=env -filter=env/dev.tftest.hcl -var-file=env/dev.tfvars.example

mock_provider "aws" {
  source = "./tests/aws"
}

override_resource {
  target = module.repository.module.bucket.aws_s3_bucket.this
  values = { arn = "arn:aws:s3:::example-copal-dev" }
}

variables {
  release = "./tests/release"
  # As they are once the repository is made and has a policy.
  owner_fingerprint = "ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45"
  prune_enabled     = true
}

run "deployed" {
  command = apply

  assert {
    condition     = module.protection.holds == [] && output.page_url == null
    error_message = "A deployment to try leaves something behind, or costs more than it has to."
  }

  assert {
    condition     = local.bucket_key == null
    error_message = "Objects are sealed with a key that is billed."
  }
}
