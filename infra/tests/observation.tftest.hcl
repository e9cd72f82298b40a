mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  watched = {
    eu-central-1 = { buckets = ["example-copal"], keys = ["arn:aws:kms:eu-central-1:111122223333:key/1"] }
    eu-west-1    = { buckets = ["example-copal-replica"], keys = ["arn:aws:kms:eu-west-1:111122223333:key/2"] }
  }
  name      = "copal"
  account   = "111122223333"
  partition = "aws"
  bucket    = "example-copal"
  copies = {
    region   = { bucket = "example-copal-replica", region = "eu-west-1" }
    recovery = { bucket = "example-copal-recovery", region = "eu-central-1" }
  }
  hears_silence      = true
  region             = "eu-central-1"
  kms_key_arn        = "arn:aws:kms:eu-central-1:111122223333:key/1"
  namespace          = "Copal"
  repository         = "example-copal"
  functions          = { for name in ["ingest", "compact", "prune", "check", "gateway"] : name => "copal-${name}" }
  timeouts           = { ingest = 900, compact = 900, prune = 900, check = 900, gateway = 30 }
  queues             = { ingest-age = "copal-events", singly-age = "copal-events-singly" }
  dead_letters       = { dead-letters = "copal-dead-letters", failed-runs = "copal-failed-runs" }
  api                = "a1b2c3d4e5"
  round_days         = { check = 3, scrub = 7, prune = 2 }
  scrubs             = ["scrub-1"]
  deleted_bytes_most = 1000000000
  message_age_most   = 3600
  refused_most       = 1000
}

run "every_alarm_is_told_and_says_what_to_do" {
  command = apply

  module {
    source = "./modules/observation"
  }

  assert {
    condition     = alltrue([for alarm in values(aws_cloudwatch_metric_alarm.this) : length(alarm.alarm_description) > 60 && (alarm.region == "eu-central-1" ? alarm.alarm_actions == toset([aws_sns_topic.this.arn]) : contains(local.heard[alarm.region], alarm.alarm_name))])
    error_message = "An alarm is told to nobody, or does not say what to do."
  }

  assert {
    condition     = aws_sns_topic.this.kms_master_key_id == var.kms_key_arn
    error_message = "Alarms are not sealed."
  }

  assert {
    condition     = alltrue([for name in ["dead-letters", "failed-runs", "ingest-age", "rejected", "stopped", "unbelieved", "unbelieved-prune", "unread", "damage", "damage-scrub-1", "checking-scrub-1", "pruning", "deleting", "no-check", "no-scrub", "no-prune", "no-ingest", "gateway-failing", "copies-failed-region", "copies-late-region", "prune-throttled", "ingest-throttled"] : contains(keys(aws_cloudwatch_metric_alarm.this), name)])
    error_message = "Something is not watched."
  }

  assert {
    condition     = alltrue([for name, alarm in aws_cloudwatch_metric_alarm.this : startswith(name, "no-") == (alarm.treat_missing_data == "breaching") && (name == "no-ingest") == (alarm.comparison_operator == "LessThanThreshold")])
    error_message = "Silence of a job is taken for health, or silence of something else for illness."
  }

  assert {
    # CloudWatch looks back at most a week, and at most a day with periods below an hour.
    condition     = alltrue([for alarm in values(aws_cloudwatch_metric_alarm.this) : alarm.period * alarm.evaluation_periods <= (alarm.period >= 3600 ? 604800 : 86400)])
    error_message = "CloudWatch refuses an alarm."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["deleting"].threshold == 1000000000 && aws_cloudwatch_metric_alarm.this["no-check"].evaluation_periods == 3
    error_message = "An alarm has another threshold than was said."
  }

  assert {
    condition     = length(aws_sns_topic_subscription.mail) + length(aws_budgets_budget.this) == 0
    error_message = "Somebody is told whom nobody named."
  }

  assert {
    condition     = jsondecode(aws_sns_topic_policy.this.policy).Statement[0].Condition == { StringEquals = { "aws:SourceAccount" = var.account } }
    error_message = "Alarms of other accounts are told."
  }
}

run "copies_are_watched_where_s3_tells_of_them_and_alarms_of_other_regions_come_here" {
  command = apply

  module {
    source = "./modules/observation"
  }

  assert {
    condition = { for name, alarm in aws_cloudwatch_metric_alarm.this : name => alarm.region if startswith(name, "copies-") } == {
      copies-failed-region   = "eu-central-1"
      copies-late-region     = "eu-west-1"
      copies-failed-recovery = "eu-central-1"
      copies-late-recovery   = "eu-central-1"
    }
    error_message = "An alarm looks for a metric where S3 does not publish it."
  }

  assert {
    condition     = alltrue([for rule in values(aws_cloudwatch_event_rule.elsewhere) : jsondecode(rule.event_pattern).detail.alarmName == ["copal-copies-late-region"]]) && length(aws_cloudwatch_metric_alarm.this["copies-late-region"].alarm_actions) == 0
    error_message = "An alarm of another region is not heard, or another one twice."
  }

  assert {
    condition     = { for region, target in aws_cloudwatch_event_target.elsewhere : region => target.arn } == { eu-central-1 = aws_sns_topic.this.arn, eu-west-1 = "arn:aws:events:eu-central-1:111122223333:event-bus/default" }
    error_message = "An alarm of another region is told elsewhere."
  }

  assert {
    # With a condition SNS refuses what EventBridge publishes.
    condition     = one([for of in jsondecode(aws_sns_topic_policy.this.policy).Statement : !can(of.Condition) if of.Sid == "Changes"])
    error_message = "EventBridge cannot publish."
  }
}

run "without_copies_no_other_region_is_heard" {
  module {
    source = "./modules/observation"
  }

  variables {
    copies  = {}
    watched = { eu-central-1 = { buckets = ["example-copal"], keys = ["arn:aws:kms:eu-central-1:111122223333:key/1"] } }
  }

  assert {
    condition     = length(aws_cloudwatch_event_rule.elsewhere) == 0 && length(aws_iam_role.changes) == 0
    error_message = "Something waits for alarms of other regions that are not there."
  }
}

run "a_round_that_is_not_completed_is_missed_whether_runs_fail_stop_early_or_are_not_there" {
  command = apply

  module {
    source = "./modules/observation"
  }

  assert {
    # A day without a run that has left nothing: its least number is above 0, or there is none, as after runs that failed.
    condition = { for name, alarm in aws_cloudwatch_metric_alarm.this : name => [alarm.dimensions.Function, alarm.metric_name, alarm.statistic, alarm.threshold, alarm.evaluation_periods, alarm.treat_missing_data] if startswith(name, "no-") && name != "no-ingest" } == {
      no-check   = ["check", "Unfinished", "Minimum", 0, 3, "breaching"]
      no-scrub   = ["check", "PacksLeft", "Minimum", 0, 7, "breaching"]
      no-scrub-1 = ["scrub-1", "PacksLeft", "Minimum", 0, 7, "breaching"]
      no-prune   = ["prune", "Unfinished", "Minimum", 0, 2, "breaching"]
    }
    error_message = "A round that was not completed is taken for one that was."
  }
}

run "mail_and_budget_if_they_are_named" {
  command = apply

  module {
    source = "./modules/observation"
  }

  variables {
    email          = "backups@example.org"
    monthly_budget = 200
  }

  assert {
    condition     = aws_sns_topic_subscription.mail[0].endpoint == "backups@example.org" && aws_budgets_budget.this[0].limit_amount == "200"
    error_message = "They are not told, or of another amount."
  }
}

run "changes_of_buckets_and_keys_are_told_wherever_they_lie" {
  command = apply

  module {
    source = "./modules/observation"
  }

  assert {
    condition     = one(flatten([for of in jsondecode(aws_cloudwatch_event_rule.changes["eu-central-1"].event_pattern)["$or"] : of.detail.requestParameters.bucketName == ["example-copal", "example-copal-replica"] if of.source == ["aws.s3"]]))
    error_message = "Nobody hears of changes of a bucket."
  }

  assert {
    condition     = one(flatten([for of in jsondecode(aws_cloudwatch_event_rule.changes["eu-west-1"].event_pattern)["$or"] : of.detail.resources.ARN == [var.watched["eu-west-1"].keys[0]] if of.source == ["aws.kms"]]))
    error_message = "Nobody hears of changes of the key of the copies."
  }

  assert {
    condition     = aws_cloudwatch_event_target.changes["eu-central-1"].arn == aws_sns_topic.this.arn && aws_cloudwatch_event_target.changes["eu-west-1"].arn == "arn:aws:events:eu-central-1:111122223333:event-bus/default" && aws_cloudwatch_event_target.changes["eu-west-1"].region == "eu-west-1"
    error_message = "What is changed is told elsewhere."
  }

  assert {
    # What the promises of the bucket and of the keys hang on.
    condition = alltrue([
      for name in ["PutBucketPolicy", "DeleteBucketPolicy", "PutBucketVersioning", "PutBucketLifecycle", "DeleteBucketLifecycle", "PutBucketReplication", "DeleteBucketReplication", "PutBucketObjectLockConfiguration", "DeleteBucket"] :
      anytrue([for of in local.settings : startswith(name, of.prefix)])
    ]) && length(setsubtract(["ScheduleKeyDeletion", "DisableKey", "PutKeyPolicy"], local.of_keys)) == 0
    error_message = "A change that matters is not told."
  }
}

run "before_there_is_a_repository_no_mail_says_that_no_job_runs" {
  module {
    source = "./modules/observation"
  }

  variables {
    hears_silence = false
  }

  assert {
    condition     = alltrue([for name, alarm in aws_cloudwatch_metric_alarm.this : alarm.actions_enabled != startswith(name, "no-")])
    error_message = "A new deployment begins with alarms, or other alarms are silent too."
  }
}
