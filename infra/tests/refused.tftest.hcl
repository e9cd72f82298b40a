# What nobody should be able to ask for.

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

run "a_directory_bucket" {
  command = plan

  variables {
    bucket = "example--euc1-az1--x-s3"
  }

  expect_failures = [var.bucket]
}

run "a_bucket_with_dots" {
  command = plan

  variables {
    bucket = "example.copal"
  }

  expect_failures = [var.bucket]
}

run "a_folder_that_stands_for_more" {
  command = plan

  variables {
    prefix = "team*"
  }

  expect_failures = [var.prefix]
}

run "an_owner_that_is_none" {
  command = plan

  variables {
    owner_fingerprint = "me"
  }

  expect_failures = [var.owner_fingerprint]
}

run "nobody_to_repair_it" {
  command = plan

  variables {
    operators = []
  }

  expect_failures = [var.operators]
}

run "everybody_to_repair_it" {
  command = plan

  variables {
    operators = ["*"]
  }

  expect_failures = [var.operators]
}

run "a_cipher_that_there_is_not" {
  command = plan

  variables {
    encryption = "none"
  }

  expect_failures = [var.encryption]
}

run "a_class_from_which_nothing_can_be_read_at_once" {
  command = plan

  variables {
    cold_packs = { class = "DEEP_ARCHIVE" }
  }

  expect_failures = [var.cold_packs]
}

run "tree_packs_that_grow_cold" {
  command = plan

  variables {
    cold_packs = { class = "GLACIER_IR", larger_than = 1048576 }
  }

  expect_failures = [var.cold_packs]
}

run "packs_of_such_a_class" {
  command = plan

  variables {
    storage_class = "GLACIER"
  }

  expect_failures = [var.storage_class]
}

run "deletions_that_nobody_can_undo" {
  command = plan

  variables {
    recovery_days = 1
  }

  expect_failures = [var.recovery_days]
}

run "locks_in_a_bucket_without" {
  command = plan

  variables {
    locked_days = 30
  }

  expect_failures = [var.locked_days]
}

run "a_lock_that_there_is_not" {
  command = plan

  variables {
    lock_mode = "LEGAL"
  }

  expect_failures = [var.lock_mode]
}

run "a_second_region_that_is_the_first" {
  command = plan

  variables {
    replica_region = "eu-central-1"
  }

  expect_failures = [var.replica_region]
}

run "more_ingests_than_are_reserved" {
  command = plan

  variables {
    events = { concurrency = 3 }
  }

  expect_failures = [var.events]
}

run "a_gateway_that_answers_too_late" {
  command = plan

  variables {
    functions = { gateway = { memory = 512, timeout = 60, concurrency = 20 } }
  }

  expect_failures = [var.functions]
}

run "more_lanes_than_a_check_has" {
  command = plan

  variables {
    check_lanes = 33
  }

  expect_failures = [var.check_lanes]
}

run "a_schedule_that_is_none" {
  command = plan

  variables {
    schedules = { check = "daily" }
  }

  expect_failures = [var.schedules]
}

run "a_name_without_a_page" {
  command = plan

  variables {
    domain = { name = "backup.example.org", certificate_arn = "arn:aws:acm:us-east-1:111122223333:certificate/1" }
  }

  expect_failures = [var.domain]
}

run "a_silence_longer_than_a_week" {
  command = plan

  variables {
    alarms = { round_days = { check = 30 } }
  }

  expect_failures = [var.alarms]
}

run "an_address_that_may_ask_nothing" {
  command = plan

  variables {
    throttle = { requests_per_address = 1 }
  }

  expect_failures = [var.throttle]
}

run "a_session_among_the_operators" {
  command = plan

  variables {
    operators = ["arn:aws:sts::111122223333:assumed-role/operator/me"]
  }

  expect_failures = [var.operators]
}

run "a_session_that_takes_the_role_of_prune" {
  command = plan

  variables {
    pruners = ["arn:aws:sts::111122223333:assumed-role/operator/me"]
  }

  expect_failures = [var.pruners]
}

run "everybody_to_delete_versions" {
  command = plan

  variables {
    restorers = ["arn:aws:iam::111122223333:role/*"]
  }

  expect_failures = [var.restorers]
}

run "a_function_that_there_is_not_pinned" {
  command = plan

  variables {
    pinned = { ingset = "5" }
  }

  expect_failures = [var.pinned]
}

run "prune_before_anybody_can_have_set_a_policy" {
  command = plan

  variables {
    owner_fingerprint = "0000000000000000000000000000000000000000000000000000000000000000"
    prune_enabled     = true
  }

  expect_failures = [var.prune_enabled]
}
