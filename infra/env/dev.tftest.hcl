# What env/dev.tfvars.example deploys: terraform test -test-directory=env -filter=env/dev.tftest.hcl -var-file=env/dev.tfvars.example

mock_provider "aws" {
  source = "./tests/aws"
}

override_resource {
  target = module.repository.module.bucket.aws_s3_bucket.this
  values = { arn = "arn:aws:s3:::example-copal-dev" }
}

variables {
  functions_zip = "./tests/functions.zip"
}

run "deployed" {
  command = apply

  assert {
    condition     = local.destroys && output.page_url == null && length(module.logs) == 0
    error_message = "A deployment to try leaves something behind, or costs more than it has to."
  }

  assert {
    condition     = local.bucket_key == null
    error_message = "Objects are sealed with a key that is billed."
  }
}
