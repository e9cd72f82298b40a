mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  name               = "copal"
  account            = "111122223333"
  region             = "eu-central-1"
  kms_key_arn        = "arn:aws:kms:eu-central-1:111122223333:key/1"
  namespace          = "Copal"
  repository         = "example-copal"
  functions          = { for name in ["ingest", "compact", "prune", "check", "gateway"] : name => "copal-${name}" }
  timeouts           = { ingest = 900, compact = 900, prune = 900, check = 900, gateway = 30 }
  queues             = { ingest-age = "copal-events", singly-age = "copal-events-singly" }
  dead_letters       = { dead-letters = "copal-dead-letters", failed-runs = "copal-failed-runs" }
  api                = "a1b2c3d4e5"
  silent_days        = { check = 3, prune = 2, ingest = 1 }
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
    condition     = alltrue([for alarm in values(aws_cloudwatch_metric_alarm.this) : alarm.alarm_actions == toset([aws_sns_topic.this.arn]) && length(alarm.alarm_description) > 60])
    error_message = "An alarm is told to nobody, or does not say what to do."
  }

  assert {
    condition     = aws_sns_topic.this.kms_master_key_id == var.kms_key_arn
    error_message = "Alarms are not sealed."
  }

  assert {
    condition     = alltrue([for name in ["dead-letters", "failed-runs", "ingest-age", "rejected", "damage", "pruning", "deleting", "no-check", "no-prune", "no-ingest", "gateway-failing", "prune-throttled", "ingest-throttled"] : contains(keys(aws_cloudwatch_metric_alarm.this), name)])
    error_message = "Something is not watched."
  }

  assert {
    condition     = alltrue([for name, alarm in aws_cloudwatch_metric_alarm.this : startswith(name, "no-") == (alarm.treat_missing_data == "breaching") && startswith(name, "no-") == (alarm.comparison_operator == "LessThanThreshold")])
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
