# What each function may do: the calls that it makes, and no other. tests/tests/infra/rights.rs replays them.

locals {
  # What every function does in the repository.
  all = [
    {
      # ListObjectsV2 below one folder or another, and HeadBucket, whose answer has the store's clock and which names none.
      # Without this right S3 does not tell an object that is missing from one that may not be seen.
      Sid      = "List"
      Effect   = "Allow"
      Action   = "s3:ListBucket"
      Resource = var.bucket_arn
    },
    {
      # Decrypt: the function's variables, and objects that are sealed with the key.
      Sid      = "Open"
      Effect   = "Allow"
      Action   = "kms:Decrypt"
      Resource = var.kms_key_arn
    },
  ]

  # Who creates objects that are sealed with the key.
  sealing = !var.seals_objects ? [] : [{
    # PutObject: S3 asks for a data key in the caller's name.
    Sid      = "Seal"
    Effect   = "Allow"
    Action   = "kms:GenerateDataKey"
    Resource = var.kms_key_arn
  }]

  # The objects in these folders.
  objects = "${var.bucket_arn}/${var.root}"

  statements = {
    ingest  = concat(local.all, local.sealing, local.ingest)
    compact = concat(local.all, local.sealing, local.compact)
    prune   = concat(local.all, local.sealing, local.prune, local.locking.prune)
    check   = concat(local.all, local.sealing, local.check, local.locking.check)
    gateway = concat(local.all, local.sealing, local.gateway, local.locking.gateway)
  }
}
