# What is planned before anything is there: every address, ARN and id is unknown, as it is at a first apply.

mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  region            = "eu-central-1"
  bucket            = "example-copal"
  owner_fingerprint = "ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45"
  release           = "./tests/release"
  page              = false
  operators         = ["arn:aws:iam::111122223333:role/operator"]
}

run "a_page_without_a_name_of_its_own" {
  command = plan

  variables {
    page = true
  }

  assert {
    condition     = length(module.page) == 1 && toset(keys(local.origins)) == toset(["distribution", "page"]) && toset(keys(local.holds)) == toset(["bucket", "key", "recovery-1-days", "recovery-14-days", "recovery-30-days", "recovery-7-days", "repository"])
    error_message = "The page cannot use presigned addresses, or too much or too little is protected."
  }
}

run "that_and_a_page_elsewhere_with_a_copy_in_another_region" {
  command = plan

  variables {
    page           = true
    cors           = "https://elsewhere.example.org"
    web_acl_arn    = "arn:aws:wafv2:us-east-1:111122223333:global/webacl/copal/1"
    replica_region = "eu-west-1"
    open_slots     = true
  }

  assert {
    condition     = toset(keys(local.origins)) == toset(["distribution", "elsewhere", "page"]) && length(setintersection(keys(local.holds), ["replica-region", "replica-region-key"])) == 2
    error_message = "A page cannot use presigned addresses, or the copies are not protected."
  }
}

run "a_page_with_a_name_copies_in_another_account_and_locks" {
  command = plan

  variables {
    page            = true
    domain          = { name = "backup.example.org", certificate_arn = "arn:aws:acm:us-east-1:111122223333:certificate/1", zone_id = "Z1" }
    recovery_bucket = { bucket_arn = "arn:aws:s3:::example-copal-recovery", account = "444455556666", kms_key_arn = "arn:aws:kms:eu-central-1:444455556666:key/1" }
    object_lock     = true
    locked_days     = 30
    lock_mode       = "COMPLIANCE"
    alarm_email     = "backups@example.org"
    monthly_budget  = 200
  }

  assert {
    condition     = length(setintersection(keys(local.holds), ["recovery", "recovery-key", "compliance", "locks-30-days"])) == 4 && !contains(keys(local.holds), "locks-60-days")
    error_message = "Copies and locks are not protected."
  }
}

run "no_page_a_page_elsewhere_and_everything_optional_off" {
  command = plan

  variables {
    cors                = "https://elsewhere.example.org"
    encryption          = "AES256"
    access_logs         = false
    reserve_concurrency = false
    prefix              = "team"
    paused              = true
    destroy_backups     = true
    destroy_backups_in  = "example-copal"
  }

  assert {
    condition     = toset(keys(local.origins)) == toset(["elsewhere"]) && module.protection.holds == []
    error_message = "The page elsewhere cannot use presigned addresses, or what may be destroyed is protected."
  }
}

run "locks_without_days_lists_cold_packs_and_both_copies" {
  command = plan

  variables {
    object_lock     = true
    inventory       = true
    access_logs     = false
    cold_packs      = { class = "GLACIER_IR" }
    replica_region  = "eu-west-1"
    recovery_bucket = { bucket_arn = "arn:aws:s3:::example-copal-recovery", account = "444455556666", kms_key_arn = "arn:aws:kms:eu-central-1:444455556666:key/1" }
    prune_enabled   = true
    pruners         = ["arn:aws:iam::111122223333:role/operator"]
    restorers       = ["arn:aws:iam::111122223333:role/operator"]
    pinned          = { ingest = "5" }
    repack_most     = 1000000000
    quota           = 5000000000000
    daily_quota     = 100000000000
  }

  assert {
    condition     = toset(keys(local.destinations)) == toset(["recovery", "region"]) && length(module.replication) == 1
    error_message = "Copies go elsewhere."
  }
}

run "an_account_that_is_new" {
  command = plan

  override_data {
    target = data.aws_servicequotas_service_quota.lambda
    values = { value = 10 }
  }

  expect_failures = [check.concurrency]
}
