# Who asked the repository's bucket for what, and what lay in it: for an inquiry, and for reconciliation.

module "bucket" {
  source = "../private_bucket"

  bucket        = var.bucket
  force_destroy = var.force_destroy

  statements = jsonencode([{
    # PutObject by S3: access logs and inventories of the repository's bucket.
    Sid       = "Logs"
    Effect    = "Allow"
    Principal = { Service = ["logging.s3.amazonaws.com", "s3.amazonaws.com"] }
    Action    = "s3:PutObject"
    Resource  = "arn:${var.partition}:s3:::${var.bucket}/*"
    Condition = {
      ArnLike      = { "aws:SourceArn" = var.source_arn }
      StringEquals = { "aws:SourceAccount" = var.account }
    }
  }])
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket                                 = module.bucket.id
  transition_default_minimum_object_size = "all_storage_classes_128K"

  rule {
    id     = "old"
    status = "Enabled"
    filter {}

    expiration {
      days = var.retention_days
    }
    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }
}
