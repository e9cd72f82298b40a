# What a plan may not give up or replace. `docs/aws.md` says how to do it all the same.

module "protection" {
  source = "./modules/protection"

  destroys = local.destroys
  holds    = local.holds
}

locals {
  holds = merge(
    {
      # Name, region and lock of a bucket make another bucket of it; another folder leaves the repository without its policy.
      repository = "${var.bucket} in ${var.region}, folder ${local.root}, locks ${var.object_lock}"
      bucket     = module.repository.arn
      key        = module.key.arn
    },
    # More days add one more, fewer take one away.
    { for days in local.milestones : "locks-${days}-days" => "on" if coalesce(var.locked_days, 0) >= days },
    { for days in local.milestones : "recovery-${days}-days" => "on" if var.recovery_days >= days },
    var.locked_days == null || var.lock_mode != "COMPLIANCE" ? {} : { compliance = "on" },
    { for name, made in module.replica : "replica-${name}" => "${made.bucket_arn} in ${var.replica_region}" },
    { for name, made in module.replica : "replica-${name}-key" => made.kms_key_arn },
    var.recovery_bucket == null ? {} : { recovery = var.recovery_bucket.bucket_arn, recovery-key = var.recovery_bucket.kms_key_arn },
  )
  milestones = [1, 7, 14, 30, 60, 90, 180, 365]
}
