# Copies every new version into another bucket, and none that was there before. What is deleted here becomes an earlier version
# there, and nobody here can delete those.

resource "aws_s3_bucket_replication_configuration" "this" {
  bucket = var.bucket
  role   = aws_iam_role.this.arn

  dynamic "rule" {
    for_each = var.destinations

    content {
      id       = rule.key
      priority = index(keys(var.destinations), rule.key) + 1
      status   = "Enabled"
      filter {}

      delete_marker_replication {
        status = "Enabled"
      }
      source_selection_criteria {
        sse_kms_encrypted_objects {
          status = "Enabled"
        }
      }

      destination {
        bucket        = rule.value.bucket_arn
        account       = rule.value.account
        storage_class = rule.value.storage_class

        # How far copies are behind, and how many failed: alarms watch it.
        metrics {
          status = "Enabled"
        }
        encryption_configuration {
          replica_kms_key_id = rule.value.kms_key_arn
        }
      }
    }
  }
}

resource "aws_iam_role" "this" {
  name        = "${var.name}-replication"
  description = "What S3 may do to copy the repository of Copal"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      # AssumeRole by S3. AWS documents no condition that S3 sends here, and with one that it does not send nothing is copied.
      # Who configures a replication needs iam:PassRole of this role.
      Sid       = "Replication"
      Effect    = "Allow"
      Principal = { Service = "s3.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "this" {
  name   = "calls"
  role   = aws_iam_role.this.id
  policy = jsonencode({ Version = "2012-10-17", Statement = concat(local.source, local.destination) })
}
