# A bucket that holds copies of a repository's objects, in another region or in another account. Who writes here is S3, for
# the role that replicates; nobody deletes a version.

module "bucket" {
  source = "../private_bucket"

  bucket      = var.bucket
  region      = var.region
  kms_key_arn = aws_kms_key.this.arn
  versioned   = true
  # A source whose versions can be locked copies only to where they can be.
  object_lock   = true
  force_destroy = var.force_destroy
  statements    = jsonencode(concat(local.replication, local.kept))
}

# Locks every copy for so long, in the mode COMPLIANCE also from this account's administrators. A copy of a locked source has the
# lock of its source instead. A lock for all is right here: no job deletes anything in this bucket.
resource "aws_s3_bucket_object_lock_configuration" "this" {
  count  = var.locked_days == null ? 0 : 1
  bucket = module.bucket.id
  region = var.region

  rule {
    default_retention {
      mode = var.lock_mode
      days = var.locked_days
    }
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket                                 = module.bucket.id
  region                                 = var.region
  transition_default_minimum_object_size = "all_storage_classes_128K"

  rule {
    id     = "what-was-deleted-at-the-source"
    status = "Enabled"
    filter {}

    noncurrent_version_expiration {
      noncurrent_days = var.recovery_days
    }
    expiration {
      expired_object_delete_marker = true
    }
    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }

  depends_on = [module.bucket]
}
