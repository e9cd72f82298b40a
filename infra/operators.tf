# Who makes and repairs the repository, and what their own policy has to allow: the bucket refuses and allows nothing, and the
# key leaves it to the account.

# A session counts as its role.
data "aws_iam_session_context" "this" {
  arn = data.aws_caller_identity.this.arn
}

locals {
  operators = var.operators == null ? [data.aws_iam_session_context.this.issuer_arn] : var.operators
}

locals {
  operator_policy = {
    Version = "2012-10-17"
    Statement = concat([
      {
        # ListObjectsV2, ListObjectVersions, HeadBucket: whatever is done.
        Sid      = "List"
        Effect   = "Allow"
        Action   = ["s3:ListBucket", "s3:ListBucketVersions"]
        Resource = "arn:${local.partition}:s3:::${var.bucket}"
      },
      {
        # GetObject, PutObject, and DeleteObject of key slots and of what the probe of `copal init` has made.
        Sid      = "Repository"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:GetObjectRetention", "s3:PutObjectRetention"]
        Resource = "arn:${local.partition}:s3:::${var.bucket}/${local.root}*"
      },
      {
        # GetObject of what is sealed with the deployment's key, or was while `encryption` said so.
        Sid      = "Open"
        Effect   = "Allow"
        Action   = "kms:Decrypt"
        Resource = module.key.arn
      },
      ], local.bucket_key == null ? [] : [{
        # PutObject of what is sealed with it.
        Sid      = "Seal"
        Effect   = "Allow"
        Action   = "kms:GenerateDataKey"
        Resource = local.bucket_key
    }])
  }
}

output "operator_policy" {
  description = "Policy that a role among `operators` needs, as JSON; it makes and repairs the repository, and reads it."
  value       = jsonencode(local.operator_policy)
}
