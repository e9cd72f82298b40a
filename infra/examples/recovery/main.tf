# A second bucket in another account: copies of every object that neither the functions nor an administrator of the first
# account can delete or open. Apply it with credentials of that other account; then name what it says in `recovery_bucket`
# of the deployment.

terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.40, < 7"
    }
  }
}

provider "aws" {
  region = var.region
}

data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}

module "replica" {
  source = "../../modules/replica"

  bucket          = var.bucket
  partition       = data.aws_partition.this.partition
  account         = data.aws_caller_identity.this.account_id
  source_role_arn = "arn:${data.aws_partition.this.partition}:iam::${var.source_account}:role/${var.source_name}-replication"
  recovery_days   = var.recovery_days
  locked_days     = var.locked_days
  lock_mode       = var.lock_mode
  restorers       = var.restorers
}

output "recovery_bucket" {
  description = "What the deployment's variable of that name is set to."
  value = {
    bucket_arn  = module.replica.bucket_arn
    account     = data.aws_caller_identity.this.account_id
    kms_key_arn = module.replica.kms_key_arn
  }
}
