# Copies of the bucket, for when the region or the account is lost.

locals {
  destinations = merge(
    { for name, made in module.replica : name => {
      bucket_arn    = made.bucket_arn
      account       = local.account
      region        = var.replica_region
      kms_key_arn   = made.kms_key_arn
      storage_class = var.replica_class
    } },
    # S3 takes only a key of the bucket's own region.
    var.recovery_bucket == null ? {} : { recovery = merge(var.recovery_bucket, { storage_class = var.replica_class, region = split(":", var.recovery_bucket.kms_key_arn)[3] }) },
  )
}

module "replica" {
  source   = "./modules/replica"
  for_each = var.replica_region == null ? {} : { region = var.replica_region }

  bucket        = "${var.bucket}-replica"
  region        = each.value
  partition     = local.partition
  account       = local.account
  recovery_days = var.recovery_days
  restorers     = var.restorers
  force_destroy = local.destroys
}

module "replication" {
  source = "./modules/replication"
  count  = var.replica_region == null && var.recovery_bucket == null ? 0 : 1

  name         = var.name
  bucket       = module.repository.id
  bucket_arn   = module.repository.arn
  kms_key_arn  = module.key.arn
  destinations = local.destinations

  # S3 refuses it while either bucket has no versions.
  depends_on = [module.repository, module.replica]
}
