locals {
  deletions = [
    {
      # DeleteObject by anybody: manifests, receipts, changes and all else that is not named below stays for ever.
      Sid         = "Kept"
      Effect      = "Deny"
      Principal   = "*"
      Action      = "s3:DeleteObject"
      NotResource = concat(local.pruned, local.shared, local.by_owners)
    },
    {
      # DeleteObject and DeleteObjects by prune.
      Sid       = "DeletedByPrune"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:DeleteObject"
      Resource  = local.pruned
      Condition = { ArnNotLike = { "aws:PrincipalArn" = [var.roles.prune] } }
    },
    {
      # DeleteObject and DeleteObjects by the gateway, when a share is revoked, and by prune.
      Sid       = "DeletedBySharers"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:DeleteObject"
      Resource  = local.shared
      Condition = { ArnNotLike = { "aws:PrincipalArn" = [var.roles.prune, var.roles.gateway] } }
    },
    {
      # DeleteObject by `copal key remove` and by the probe of `copal init`, with credentials of AWS.
      Sid       = "DeletedByOperators"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:DeleteObject"
      Resource  = local.by_owners
      Condition = { ArnNotLike = { "aws:PrincipalArn" = var.operators } }
    },
    merge({
      # DeleteObject of a version: what was deleted can be brought back for as long as the lifecycle keeps it, which this does
      # not bind. Restorers delete the markers that hide it.
      Sid       = "VersionsStay"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:DeleteObjectVersion"
      Resource  = [local.all]
    }, length(var.restorers) == 0 ? {} : { Condition = { ArnNotLike = { "aws:PrincipalArn" = var.restorers } } }),
    {
      # DeleteObject of a locked version, by anybody, restorers too.
      Sid       = "LocksStay"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:BypassGovernanceRetention"
      Resource  = [local.all]
    },
  ]
}
