# A bucket that nobody outside sees: no public access, no ACLs, sealed at rest, TLS only.

resource "aws_s3_bucket" "this" {
  bucket              = var.bucket
  region              = var.region
  object_lock_enabled = var.object_lock
  force_destroy       = var.force_destroy
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket                  = aws_s3_bucket.this.id
  region                  = var.region
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  bucket = aws_s3_bucket.this.id
  region = var.region

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id
  region = var.region

  rule {
    # One data key for many objects: a request to KMS now and then instead of one for each object.
    bucket_key_enabled = var.kms_key_arn != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_versioning" "this" {
  bucket = aws_s3_bucket.this.id
  region = var.region

  versioning_configuration {
    # A bucket that was never versioned calls this Disabled; Terraform cannot go back to it.
    status = var.versioned ? "Enabled" : "Disabled"
  }
}

resource "aws_s3_bucket_policy" "this" {
  bucket = aws_s3_bucket.this.id
  region = var.region

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([{
      # Every call: nothing is said to this bucket in the clear.
      Sid       = "TlsOnly"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [aws_s3_bucket.this.arn, "${aws_s3_bucket.this.arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }], jsondecode(var.statements))
  })

  depends_on = [aws_s3_bucket_public_access_block.this]
}
