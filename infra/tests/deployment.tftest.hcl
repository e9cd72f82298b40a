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

run "what_is_needed_is_enough" {
  command = apply

  assert {
    condition     = output.gateway_url == "https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com" && output.page_url == null
    error_message = "There is a page that nobody asked for, or the gateway is elsewhere."
  }

  assert {
    condition     = output.init == "copal init --repository s3://example-copal --ingest service"
    error_message = "The line that makes the repository is another one."
  }

  assert {
    condition     = length(distinct(values(output.roles))) == 5
    error_message = "Functions share a role."
  }

  assert {
    condition     = toset(module.schedules.enabled) == toset(["check", "compact", "reconcile"]) && module.events.enabled && local.scrubs == []
    error_message = "Prune runs before retention is set, or another job does not run."
  }

  assert {
    condition     = !local.destroys && contains(module.protection.holds, "repository")
    error_message = "Backups are not protected."
  }

  assert {
    condition     = length(module.replication) == 0 && length(module.page) == 0
    error_message = "Something is on that nobody asked for."
  }
}

run "every_feature_is_on" {
  command = apply

  variables {
    prefix          = "/our/team/"
    object_lock     = true
    locked_days     = 30
    lock_mode       = "COMPLIANCE"
    cold_packs      = { class = "GLACIER_IR" }
    inventory       = true
    replica_region  = "eu-west-1"
    recovery_bucket = { bucket_arn = "arn:aws:s3:::example-copal-recovery", account = "444455556666", kms_key_arn = "arn:aws:kms:eu-central-1:444455556666:key/1" }
    prune_enabled   = true
    pruners         = ["arn:aws:iam::111122223333:role/operator"]
    pinned          = { ingest = "5" }
    repack_most     = 1000000000
    check_lanes     = 3
    storage_class   = "STANDARD_IA"
    open_slots      = true
    quota           = 5000000000000
    daily_quota     = 100000000000
    cors            = "https://elsewhere.example.org"
    page            = true
    domain          = { name = "backup.example.org", certificate_arn = "arn:aws:acm:us-east-1:111122223333:certificate/1", zone_id = "Z1" }
    web_acl_arn     = "arn:aws:wafv2:us-east-1:111122223333:global/webacl/copal/1"
    open_api        = true
    alarm_email     = "backups@example.org"
    monthly_budget  = 200
  }

  assert {
    condition     = output.gateway_url == "https://backup.example.org" && output.page_url == output.gateway_url
    error_message = "The page does not find the gateway at its own origin."
  }

  assert {
    # Whoever knew the gateway by an address before there was a page, or before the page had a name, still does.
    condition     = local.environment_of.gateway.COPAL_ORIGIN == "https://backup.example.org,https://d111111abcdef8.cloudfront.net,https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"
    error_message = "A page or a name that is added later locks clients out."
  }

  assert {
    condition     = nonsensitive(local.environment_of.gateway.COPAL_VIA) == "" && length(module.page[0].web_acls) == 0
    error_message = "The API is closed, or there is a web ACL besides the one that was named."
  }

  assert {
    condition     = local.root == "our/team/" && output.repository == "s3://example-copal/our/team"
    error_message = "The folder is another one."
  }

  assert {
    condition     = local.environment.COPAL_OBJECT_LOCK == "COMPLIANCE:30"
    error_message = "Packs and manifests are not locked, or otherwise."
  }

  assert {
    condition     = alltrue([for job in ["scrub-1", "scrub-2"] : local.jobs[job] == local.jobs.check]) && local.jobs.check.lanes == 3 && local.scrubs == ["scrub-1", "scrub-2"] && local.concurrency.check == 3
    error_message = "The lanes of a check are not the runs that there are, or not all of them can run at once."
  }

  assert {
    condition     = output.versions.ingest == "5" && output.versions.prune == "7"
    error_message = "Something else is pinned than was said."
  }

  assert {
    condition     = local.jobs.prune.enabled && toset(keys(local.destinations)) == toset(["region", "recovery"])
    error_message = "Prune rests, or copies go elsewhere."
  }
}

run "beside_a_page_the_api_is_closed_and_addresses_are_bounded" {
  command = apply

  variables {
    page      = true
    operators = null
  }

  assert {
    condition     = nonsensitive(local.environment_of.gateway.COPAL_VIA == local.via && length(local.via) == 36)
    error_message = "The gateway does not know what CloudFront says."
  }

  assert {
    condition     = local.environment_of.gateway.COPAL_ORIGIN == "https://d111111abcdef8.cloudfront.net" && output.gateway_url == output.page_url
    error_message = "Clients may sign for an address that is closed."
  }

  assert {
    condition     = length(module.page[0].web_acls) == 1
    error_message = "One address can ask for everything."
  }

  assert {
    condition     = output.operators == tolist(["arn:aws:iam::111122223333:role/me"])
    error_message = "Whoever applies cannot make the repository."
  }
}

run "everything_rests_while_somebody_rebuilds" {
  variables {
    paused = true
  }

  assert {
    condition     = length(module.schedules.enabled) == 0 && !module.events.enabled
    error_message = "A job or an ingest runs while the index is rebuilt."
  }
}

run "nothing_starts_by_itself_before_somebody_has_said_whose_the_repository_is" {
  variables {
    owner_fingerprint = "0000000000000000000000000000000000000000000000000000000000000000"
  }

  assert {
    condition     = length(module.schedules.enabled) == 0 && !module.events.enabled
    error_message = "A new deployment begins with runs that fail."
  }
}

run "objects_sealed_by_s3_need_no_right_for_the_key" {
  variables {
    encryption = "AES256"
  }

  assert {
    condition     = !anytrue([for statements in values(module.rights.statements) : strcontains(statements, "kms:GenerateDataKey")])
    error_message = "A function may use the key for nothing."
  }

  assert {
    # What was sealed with the key before is still read.
    condition     = { for of in local.operator_policy.Statement : of.Sid => of.Action if startswith(jsonencode(of.Action), "\"kms:") } == { Open = "kms:Decrypt" }
    error_message = "Operators may use the key for nothing, or cannot read what was sealed with it."
  }
}

run "one_variable_does_not_destroy_backups" {
  variables {
    destroy_backups = true
  }

  assert {
    condition     = !local.destroys
    error_message = "One word is enough to destroy backups."
  }
}

run "the_name_of_another_bucket_does_not_destroy_backups" {
  variables {
    destroy_backups    = true
    destroy_backups_in = "example-copal-other"
  }

  assert {
    condition     = !local.destroys
    error_message = "The name of another bucket is enough to destroy backups."
  }
}

# Last: what these runs have made is destroyed after it, which the protection would refuse.
run "both_together_do" {
  command = apply

  variables {
    destroy_backups    = true
    destroy_backups_in = "example-copal"
  }

  assert {
    condition     = local.destroys && module.protection.holds == []
    error_message = "Backups cannot be destroyed at all."
  }
}
