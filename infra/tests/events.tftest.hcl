mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  name             = "copal"
  account          = "111122223333"
  bucket           = "example-copal"
  bucket_arn       = "arn:aws:s3:::example-copal"
  root             = "team/"
  function_arn     = "arn:aws:lambda:eu-central-1:111122223333:function:copal-ingest:live"
  function_timeout = 900
  batch            = 100
  window           = 5
  concurrency      = 2
  receives_most    = 5
  enabled          = true
}

run "a_new_manifest_or_change_reaches_ingest" {
  module {
    source = "./modules/events"
  }

  assert {
    condition     = toset([for queue in aws_s3_bucket_notification.this.queue : queue.filter_prefix]) == toset(["team/manifests/", "team/changes/"])
    error_message = "Other objects are events than manifests and changes."
  }

  assert {
    condition     = alltrue([for queue in aws_s3_bucket_notification.this.queue : queue.queue_arn == aws_sqs_queue.this.arn && queue.events == toset(["s3:ObjectCreated:*"])])
    error_message = "Notifications do not reach the queue, or tell of something else than new objects."
  }

  assert {
    condition = one([for of in jsondecode(aws_sqs_queue_policy.this.policy).Statement : of if of.Effect == "Allow"]) == {
      Sid       = "Notifications"
      Effect    = "Allow"
      Principal = { Service = "s3.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = aws_sqs_queue.this.arn
      Condition = {
        ArnEquals    = { "aws:SourceArn" = var.bucket_arn }
        StringEquals = { "aws:SourceAccount" = var.account }
      }
    }
    error_message = "Somebody else than S3, for this bucket, sends events."
  }

  assert {
    condition     = aws_lambda_event_source_mapping.this.event_source_arn == aws_sqs_queue.this.arn && aws_lambda_event_source_mapping.this.function_name == var.function_arn
    error_message = "The queue is not ingest's."
  }

  assert {
    condition     = aws_lambda_event_source_mapping.this.function_response_types == toset(["ReportBatchItemFailures"]) && one(aws_lambda_event_source_mapping.this.scaling_config).maximum_concurrency == 2
    error_message = "A batch fails as a whole, or ingests are not bounded."
  }
}

run "a_message_comes_again_soon_after_its_ingest_and_then_singly_and_is_put_aside_in_the_end" {
  module {
    source = "./modules/events"
  }

  assert {
    condition     = aws_sqs_queue.this.visibility_timeout_seconds == 965 && aws_sqs_queue.singly.visibility_timeout_seconds == 960
    error_message = "A message comes again while it is worked, or long after."
  }

  assert {
    condition     = jsondecode(aws_sqs_queue.this.redrive_policy) == { deadLetterTargetArn = aws_sqs_queue.singly.arn, maxReceiveCount = 1 }
    error_message = "A message that comes again comes with others."
  }

  assert {
    condition     = aws_lambda_event_source_mapping.singly.event_source_arn == aws_sqs_queue.singly.arn && aws_lambda_event_source_mapping.singly.batch_size == 1
    error_message = "Messages that come again are not taken singly."
  }

  assert {
    condition     = jsondecode(aws_sqs_queue.singly.redrive_policy) == { deadLetterTargetArn = aws_sqs_queue.dead_letters.arn, maxReceiveCount = 4 }
    error_message = "A message that fails again and again is not put aside."
  }

  assert {
    condition     = aws_sqs_queue.this.sqs_managed_sse_enabled && aws_sqs_queue.singly.sqs_managed_sse_enabled && aws_sqs_queue.dead_letters.sqs_managed_sse_enabled
    error_message = "Messages are not sealed."
  }

  assert {
    condition     = aws_sqs_queue.dead_letters.message_retention_seconds > aws_sqs_queue.this.message_retention_seconds
    error_message = "What is put aside is gone before somebody looks."
  }
}

run "a_pause_stops_ingest_too" {
  module {
    source = "./modules/events"
  }

  variables {
    enabled = false
  }

  assert {
    condition     = !aws_lambda_event_source_mapping.this.enabled && !aws_lambda_event_source_mapping.singly.enabled
    error_message = "Events start ingests while the index is rebuilt."
  }
}
