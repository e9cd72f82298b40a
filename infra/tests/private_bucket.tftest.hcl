mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  bucket = "example-copal"
}

run "nothing_is_public_and_everything_is_sealed" {
  module {
    source = "./modules/private_bucket"
  }

  assert {
    condition = alltrue([
      aws_s3_bucket_public_access_block.this.block_public_acls,
      aws_s3_bucket_public_access_block.this.block_public_policy,
      aws_s3_bucket_public_access_block.this.ignore_public_acls,
      aws_s3_bucket_public_access_block.this.restrict_public_buckets,
    ])
    error_message = "The bucket can be made public."
  }

  assert {
    condition     = one(aws_s3_bucket_ownership_controls.this.rule).object_ownership == "BucketOwnerEnforced"
    error_message = "ACLs count."
  }

  assert {
    condition     = one(one(aws_s3_bucket_server_side_encryption_configuration.this.rule).apply_server_side_encryption_by_default).sse_algorithm == "AES256"
    error_message = "Objects are not sealed."
  }

  assert {
    condition = anytrue([
      for statement in jsondecode(aws_s3_bucket_policy.this.policy).Statement :
      statement.Effect == "Deny" && statement.Principal == "*" && statement.Action == "s3:*" && statement.Condition == { Bool = { "aws:SecureTransport" = "false" } } && length(statement.Resource) == 2
    ])
    error_message = "Calls without TLS are taken."
  }

  assert {
    condition     = !aws_s3_bucket.this.force_destroy && !aws_s3_bucket.this.object_lock_enabled
    error_message = "It can be destroyed with what is in it, or locks."
  }
}

run "a_key_seals_with_one_data_key_for_many_objects" {
  module {
    source = "./modules/private_bucket"
  }

  variables {
    kms_key_arn = "arn:aws:kms:eu-central-1:111122223333:key/1"
    versioned   = true
    object_lock = true
  }

  assert {
    condition     = one(aws_s3_bucket_server_side_encryption_configuration.this.rule).bucket_key_enabled && one(one(aws_s3_bucket_server_side_encryption_configuration.this.rule).apply_server_side_encryption_by_default).kms_master_key_id == var.kms_key_arn
    error_message = "The key is not used, or is asked for with each object."
  }

  assert {
    condition     = one(aws_s3_bucket_versioning.this.versioning_configuration).status == "Enabled" && aws_s3_bucket.this.object_lock_enabled
    error_message = "There are no versions, or they cannot be locked."
  }
}
