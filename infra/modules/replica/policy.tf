locals {
  objects = "arn:${var.partition}:s3:::${var.bucket}/*"

  # A role of this account has its rights from its own policy.
  replication = var.source_role_arn == null ? [] : [{
    # Copies and delete markers, by the role of the other account.
    Sid       = "Copies"
    Effect    = "Allow"
    Principal = { AWS = var.source_role_arn }
    Action    = ["s3:ReplicateObject", "s3:ReplicateDelete"]
    Resource  = local.objects
  }]

  kept = [{
    # DeleteObject and DeleteObjectVersion by anybody: the lifecycle alone, which this does not bind, puts versions away.
    Sid       = "VersionsStay"
    Effect    = "Deny"
    Principal = "*"
    Action    = ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:BypassGovernanceRetention"]
    Resource  = local.objects
  }]
}

resource "aws_kms_key" "this" {
  description             = "Copal: copies in ${var.bucket}"
  region                  = var.region
  enable_key_rotation     = true
  deletion_window_in_days = 30

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([{
      # This account's administrators.
      Sid       = "Account"
      Effect    = "Allow"
      Principal = { AWS = "arn:${var.partition}:iam::${var.account}:root" }
      Action    = "kms:*"
      Resource  = "*"
      }], var.source_role_arn == null ? [] : [{
      # GenerateDataKey and Encrypt: copies are sealed for this account, and the other one cannot open them.
      Sid       = "Copies"
      Effect    = "Allow"
      Principal = { AWS = var.source_role_arn }
      Action    = ["kms:GenerateDataKey", "kms:Encrypt"]
      Resource  = "*"
    }])
  })
}
