mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  name             = "copal"
  account          = "111122223333"
  dead_letters_arn = "arn:aws:sqs:eu-central-1:111122223333:copal-failed-runs"
  kms_key_arn      = "arn:aws:kms:eu-central-1:111122223333:key/1"

  jobs = {
    reconcile = { expression = "rate(1 hour)", enabled = true, function_arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-ingest:live" }
    prune     = { expression = "cron(17 5 * * ? *)", enabled = false, function_arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-prune:live" }
    scrub-1   = { expression = "rate(1 hour)", enabled = true, function_arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-check:live", lanes = 2 }
  }
}

run "a_schedule_asks_for_the_job_of_its_name_and_its_failure_is_heard_of" {
  module {
    source = "./modules/schedules"
  }

  assert {
    condition     = alltrue([for job, made in aws_scheduler_schedule.this : one(made.target).input == (job == "scrub-1" ? jsonencode({ job = job, lanes = 2 }) : jsonencode({ job = job })) && one(made.target).arn == var.jobs[job].function_arn])
    error_message = "A schedule asks the wrong function, or for the wrong job."
  }

  assert {
    condition     = { for job, made in aws_scheduler_schedule.this : job => made.state } == { reconcile = "ENABLED", prune = "DISABLED", scrub-1 = "ENABLED" }
    error_message = "A job runs that should rest, or the other way round."
  }

  assert {
    condition     = toset(output.enabled) == toset(["reconcile", "scrub-1"])
    error_message = "Other jobs are said to run than do."
  }

  assert {
    condition     = alltrue([for made in values(aws_scheduler_schedule.this) : one(one(made.target).dead_letter_config).arn == var.dead_letters_arn && one(one(made.target).retry_policy).maximum_retry_attempts > 0])
    error_message = "Nobody hears of a job that could not be started."
  }

  assert {
    condition     = toset(flatten([for of in jsondecode(aws_iam_role_policy.this.policy).Statement : of.Resource if of.Action == "lambda:InvokeFunction"])) == toset([for job in values(var.jobs) : job.function_arn])
    error_message = "Schedules may start something else, or not what they should."
  }
}
