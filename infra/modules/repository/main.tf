# The repository's bucket: created are new names only, deleted is what prune deletes, and what was deleted stays for a while.

module "bucket" {
  source = "../private_bucket"

  bucket        = var.bucket
  kms_key_arn   = var.kms_key_arn
  versioned     = true
  object_lock   = var.object_lock
  force_destroy = var.force_destroy
  statements    = jsonencode(local.statements)
}

# Presigned addresses, as the page in a browser uses them: it sends the headers that the signature covers.
resource "aws_s3_bucket_cors_configuration" "this" {
  # The keys alone: addresses are unknown at a first apply.
  count  = length(keys(var.origins)) > 0 ? 1 : 0
  bucket = module.bucket.id

  cors_rule {
    allowed_origins = distinct(values(var.origins))
    allowed_methods = ["GET", "PUT"]
    allowed_headers = concat([
      "content-type",
      "if-none-match",
      "range",
      "x-amz-checksum-sha256",
      "x-amz-server-side-encryption",
      "x-amz-server-side-encryption-aws-kms-key-id",
      "x-amz-storage-class",
      ], !var.locks_objects ? [] : [
      "x-amz-object-lock-mode",
      "x-amz-object-lock-retain-until-date",
    ])
    expose_headers  = ["content-range", "etag", "x-amz-checksum-sha256"]
    max_age_seconds = 600
  }
}

resource "aws_s3_bucket_logging" "this" {
  count         = var.access_logs ? 1 : 0
  bucket        = module.bucket.id
  target_bucket = var.log_bucket.id
  target_prefix = "access/"
}

# What reconciles a repository of any size with what its roots name, without listing it.
resource "aws_s3_bucket_inventory" "this" {
  count                    = var.inventory ? 1 : 0
  bucket                   = module.bucket.id
  name                     = "all"
  included_object_versions = "All"
  optional_fields          = ["Size", "LastModifiedDate", "StorageClass", "ChecksumAlgorithm", "ObjectLockRetainUntilDate"]

  schedule {
    frequency = "Weekly"
  }

  destination {
    bucket {
      format     = "Parquet"
      bucket_arn = var.log_bucket.arn
      prefix     = "inventory"

      encryption {
        sse_s3 {}
      }
    }
  }
}
