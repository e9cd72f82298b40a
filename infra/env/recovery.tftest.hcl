# The recovery account, by itself: it is made first, or after the deployment, and neither order needs anything of the other one.

mock_provider "aws" {
  source = "./tests/aws"

  mock_data "aws_caller_identity" {
    defaults = { account_id = "444455556666" }
  }
}

run "deployed" {
  command = apply

  module {
    source = "./examples/recovery"
  }

  variables {
    region         = "eu-central-1"
    bucket         = "example-copal-recovery"
    source_account = "111122223333"
  }

  override_resource {
    target = module.replica.module.bucket.aws_s3_bucket.this
    values = { arn = "arn:aws:s3:::example-copal-recovery" }
  }

  override_resource {
    target = module.replica.aws_kms_key.this
    values = { arn = "arn:aws:kms:eu-central-1:444455556666:key/00000000-0000-0000-0000-000000000000" }
  }

  assert {
    condition     = output.recovery_bucket == { bucket_arn = "arn:aws:s3:::example-copal-recovery", account = "444455556666", kms_key_arn = "arn:aws:kms:eu-central-1:444455556666:key/00000000-0000-0000-0000-000000000000" }
    error_message = "It does not say what the deployment needs."
  }
}
