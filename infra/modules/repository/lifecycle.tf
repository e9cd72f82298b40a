resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket = module.bucket.id
  # Without it S3 refuses to move small objects, which are not moved anyway.
  transition_default_minimum_object_size = "all_storage_classes_128K"

  rule {
    id     = "uploads-that-were-given-up"
    status = "Enabled"
    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }

  rule {
    id     = "what-was-deleted"
    status = "Enabled"
    filter {}

    noncurrent_version_expiration {
      noncurrent_days = var.recovery_days
    }
    expiration {
      expired_object_delete_marker = true
    }
  }

  # Index, state, manifests and tree packs are read by every job and every restore. Tree packs lie beside those of data, and
  # are told from them by their size.
  dynamic "rule" {
    for_each = var.cold_packs == null ? [] : [var.cold_packs]

    content {
      id     = "large-packs"
      status = "Enabled"

      filter {
        and {
          prefix                   = "${var.root}packs/"
          object_size_greater_than = rule.value.larger_than
        }
      }
      transition {
        days          = rule.value.after_days
        storage_class = rule.value.class
      }
    }
  }

  # A lifecycle of versions needs them.
  depends_on = [module.bucket]
}
