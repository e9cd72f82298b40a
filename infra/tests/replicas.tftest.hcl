mock_provider "aws" {
  source = "./tests/aws"
}

run "copies_go_out_and_take_nothing_with_them" {
  module {
    source = "./modules/replication"
  }

  variables {
    name        = "copal"
    bucket      = "example-copal"
    bucket_arn  = "arn:aws:s3:::example-copal"
    kms_key_arn = "arn:aws:kms:eu-central-1:111122223333:key/1"

    destinations = {
      region   = { bucket_arn = "arn:aws:s3:::example-copal-replica", account = "111122223333", kms_key_arn = "arn:aws:kms:eu-west-1:111122223333:key/2", storage_class = "STANDARD_IA" }
      recovery = { bucket_arn = "arn:aws:s3:::example-copal-recovery", account = "444455556666", kms_key_arn = "arn:aws:kms:eu-central-1:444455556666:key/3", storage_class = "STANDARD_IA" }
    }
  }

  assert {
    condition     = [for rule in aws_s3_bucket_replication_configuration.this.rule : one(rule.destination).bucket] == ["arn:aws:s3:::example-copal-recovery", "arn:aws:s3:::example-copal-replica"] && length(toset([for rule in aws_s3_bucket_replication_configuration.this.rule : rule.priority])) == 2
    error_message = "Copies go elsewhere, or two rules are of the same weight."
  }

  assert {
    condition     = alltrue([for rule in aws_s3_bucket_replication_configuration.this.rule : rule.status == "Enabled" && one(one(rule.destination).encryption_configuration).replica_kms_key_id != null && one(one(rule.destination).metrics).status == "Enabled"])
    error_message = "Copies are not made, not sealed, or not watched."
  }

  assert {
    condition     = !anytrue(flatten([for of in jsondecode(aws_iam_role_policy.this.policy).Statement : [for action in flatten([of.Action]) : strcontains(action, "DeleteObject") || endswith(action, "*")]]))
    error_message = "The role of replication may delete."
  }

  assert {
    condition     = !anytrue(flatten([for of in jsondecode(aws_iam_role_policy.this.policy).Statement : [for resource in flatten([of.Resource]) : of.Action == "kms:Decrypt" && resource != var.kms_key_arn]]))
    error_message = "The role of replication may open copies."
  }
}

run "a_recovery_bucket_takes_copies_and_gives_no_version_away" {
  command = apply

  module {
    source = "./examples/recovery"
  }

  variables {
    region         = "eu-central-1"
    bucket         = "example-copal-recovery"
    source_account = "999988887777"
  }

  assert {
    condition     = output.recovery_bucket.account == "111122223333" && startswith(output.recovery_bucket.kms_key_arn, "arn:aws:kms:")
    error_message = "It does not say what the deployment needs."
  }
}

run "a_replica_is_locked_only_if_that_is_said" {
  module {
    source = "./modules/replica"
  }

  variables {
    bucket          = "example-copal-recovery"
    partition       = "aws"
    account         = "444455556666"
    source_role_arn = "arn:aws:iam::999988887777:role/copal-replication"
    recovery_days   = 90
    locked_days     = 60
    lock_mode       = "COMPLIANCE"
  }

  assert {
    condition     = one(one(aws_s3_bucket_object_lock_configuration.this[0].rule).default_retention).days == 60 && one(one(aws_s3_bucket_object_lock_configuration.this[0].rule).default_retention).mode == "COMPLIANCE"
    error_message = "Copies are not locked."
  }

  assert {
    condition     = alltrue([for of in local.kept : of.Effect == "Deny" && of.Principal == "*" && !can(of.Condition)]) && toset(flatten([for of in local.kept : of.Action])) == toset(["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:PutObject", "s3:BypassGovernanceRetention"])
    error_message = "Somebody can delete or replace copies."
  }

  assert {
    condition     = alltrue([for of in concat(local.replication, jsondecode(aws_kms_key.this.policy).Statement) : of.Principal.AWS == "arn:aws:iam::999988887777:root" && of.Condition.ArnEquals["aws:PrincipalArn"] == var.source_role_arn if of.Sid == "Copies"])
    error_message = "Somebody else writes copies, or a policy names a role that may not be there yet."
  }

  assert {
    condition     = !anytrue(flatten([for of in jsondecode(aws_kms_key.this.policy).Statement : [for action in flatten([of.Action]) : of.Sid == "Copies" && action == "kms:Decrypt"]]))
    error_message = "The other account can open copies."
  }
}

run "a_replica_of_this_account_needs_nobody_elses_leave" {
  module {
    source = "./modules/replica"
  }

  variables {
    bucket        = "example-copal-replica"
    region        = "eu-west-1"
    partition     = "aws"
    account       = "111122223333"
    recovery_days = 30
  }

  assert {
    condition     = length(aws_s3_bucket_object_lock_configuration.this) == 0 && length(local.replication) == 0 && aws_kms_key.this.region == "eu-west-1"
    error_message = "It is locked, open to others, or elsewhere."
  }
}
