locals {
  objects = "arn:${var.partition}:s3:::${var.bucket}/*"

  # The other account, and the role in a condition: AWS refuses a policy whose principal is a role that is not there yet.
  source  = var.source_role_arn == null ? null : "arn:${var.partition}:iam::${split(":", var.source_role_arn)[4]}:root"
  by_role = { ArnEquals = { "aws:PrincipalArn" = var.source_role_arn } }

  # A role of this account has its rights from its own policy.
  replication = var.source_role_arn == null ? [] : [{
    # Copies and delete markers, by the role of the other account.
    Sid       = "Copies"
    Effect    = "Allow"
    Principal = { AWS = local.source }
    Action    = ["s3:ReplicateObject", "s3:ReplicateDelete"]
    Resource  = local.objects
    Condition = local.by_role
  }]

  kept = [
    {
      # DeleteObject and PutObject by anybody, and DeleteObject of locked versions. Replication needs none of these rights: it
      # calls ReplicateObject and ReplicateDelete. A copy that somebody overwrites would become an earlier version, and expire.
      Sid       = "CopiesStay"
      Effect    = "Deny"
      Principal = "*"
      Action    = ["s3:DeleteObject", "s3:PutObject", "s3:BypassGovernanceRetention"]
      Resource  = local.objects
    },
    merge({
      # DeleteObject of a version: the lifecycle alone, which this does not bind, puts versions away. Restorers delete the
      # markers that hide them.
      Sid       = "VersionsStay"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:DeleteObjectVersion"
      Resource  = local.objects
    }, length(var.restorers) == 0 ? {} : { Condition = { ArnNotLike = { "aws:PrincipalArn" = var.restorers } } }),
  ]
}

resource "aws_kms_key" "this" {
  description             = "Copal: copies in ${var.bucket}"
  region                  = var.region
  enable_key_rotation     = true
  deletion_window_in_days = 30

  lifecycle {
    # Without it nothing can be read. env/destroy/ has what lifts this.
    prevent_destroy = true
  }

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
      Principal = { AWS = local.source }
      Action    = ["kms:GenerateDataKey", "kms:Encrypt"]
      Resource  = "*"
      Condition = local.by_role
    }])
  })
}
