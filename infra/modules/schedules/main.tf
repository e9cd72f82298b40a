# The service's clock: each job at its time, retried, and told of where it cannot be started.

resource "aws_scheduler_schedule_group" "this" {
  name = var.name
}

resource "aws_scheduler_schedule" "this" {
  for_each = var.jobs

  name                         = each.key
  description                  = "Runs the job ${each.key} of Copal"
  group_name                   = aws_scheduler_schedule_group.this.name
  schedule_expression          = each.value.expression
  schedule_expression_timezone = "UTC"
  state                        = each.value.enabled ? "ENABLED" : "DISABLED"
  kms_key_arn                  = var.kms_key_arn

  # Not all deployments of the world at the same minute.
  flexible_time_window {
    mode                      = "FLEXIBLE"
    maximum_window_in_minutes = 5
  }

  target {
    arn      = each.value.function_arn
    role_arn = aws_iam_role.this.arn
    # A function does a job only if it is asked for it by name.
    input = jsonencode({ for name, value in { job = each.key, lanes = each.value.lanes } : name => value if name == "job" || value != 1 })

    retry_policy {
      maximum_event_age_in_seconds = 3600
      maximum_retry_attempts       = 2
    }
    dead_letter_config {
      arn = var.dead_letters_arn
    }
  }
}

resource "aws_iam_role" "this" {
  name        = "${var.name}-schedules"
  description = "What the schedules of Copal may start"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      # AssumeRole by EventBridge Scheduler, for the schedules of this group.
      Sid       = "Schedules"
      Effect    = "Allow"
      Principal = { Service = "scheduler.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = {
        StringEquals = { "aws:SourceAccount" = var.account }
        ArnEquals    = { "aws:SourceArn" = aws_scheduler_schedule_group.this.arn }
      }
    }]
  })
}
