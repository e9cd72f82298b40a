# Copal in one account and one region: what holds the backups. What works on them is in functions.tf, events.tf and
# schedules.tf; how clients reach them in gateway.tf; what watches over all of it in observation.tf.

provider "aws" {
  region = var.region

  default_tags {
    tags = merge({ Copal = var.name }, var.tags)
  }
}

data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}

locals {
  account   = data.aws_caller_identity.this.account_id
  partition = data.aws_partition.this.partition
  folder    = trim(var.prefix, "/")
  root      = local.folder == "" ? "" : "${local.folder}/"
  # As the functions call the repository in their metrics.
  repository = local.folder == "" ? var.bucket : "${var.bucket}/${local.folder}"
  # Zeros are nobody: docs/aws.md begins with them.
  is_owned = var.owner_fingerprint != local.nobody
  nobody   = join("", [for _ in range(64) : "0"])
  # Both have to be said before backups can be destroyed, and applied before that.
  destroys = var.destroy_backups && var.destroy_backups_in == var.bucket
}

module "key" {
  source = "./modules/key"

  name      = var.name
  partition = local.partition
  account   = local.account
  region    = var.region
}

module "repository" {
  source = "./modules/repository"

  bucket        = var.bucket
  root          = local.root
  partition     = local.partition
  kms_key_arn   = local.bucket_key
  object_lock   = var.object_lock
  locks_objects = var.locked_days != null
  roles         = { for function, made in module.function : function => made.role_arn }
  operators     = local.operators
  restorers     = var.restorers
  origins       = local.origins
  recovery_days = var.recovery_days
  cold_packs    = var.cold_packs
  access_logs   = var.access_logs
  log_bucket    = module.logs.bucket
  inventory     = var.inventory
  force_destroy = local.destroys
}

locals {
  bucket_key = var.encryption == "aws:kms" ? module.key.arn : null
}

# It is there even if nothing is logged: logging can be turned off, and what was logged stays for its time.
module "logs" {
  source         = "./modules/logs"
  bucket         = "${var.bucket}-logs"
  partition      = local.partition
  account        = local.account
  source_arn     = "arn:${local.partition}:s3:::${var.bucket}"
  retention_days = var.log_retention_days
  force_destroy  = local.destroys
}

moved {
  from = module.logs[0]
  to   = module.logs
}
