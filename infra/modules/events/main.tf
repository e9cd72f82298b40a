# From a new manifest or change in the bucket to the ingest that decides about it.

resource "aws_sqs_queue" "dead_letters" {
  name                      = "${var.name}-dead-letters"
  message_retention_seconds = 14 * 24 * 3600
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue" "this" {
  name                      = "${var.name}-events"
  message_retention_seconds = 4 * 24 * 3600
  # A message stays away while the function that has it may still be at work, and hardly longer: twice at work harms
  # nothing, since every object is created once.
  visibility_timeout_seconds = var.function_timeout + var.window + local.margin
  receive_wait_time_seconds  = 20
  sqs_managed_sse_enabled    = true

  # What has failed once, or was in a batch whose ingest died, is taken singly from now on.
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.singly.arn
    maxReceiveCount     = 1
  })
}

# Messages that come a second time, each for an ingest of its own: one that kills its ingest takes no other with it.
resource "aws_sqs_queue" "singly" {
  name                       = "${var.name}-events-singly"
  message_retention_seconds  = 4 * 24 * 3600
  visibility_timeout_seconds = var.function_timeout + local.margin
  receive_wait_time_seconds  = 20
  sqs_managed_sse_enabled    = true

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letters.arn
    maxReceiveCount     = var.receives_most - 1
  })
}

resource "aws_sqs_queue_redrive_allow_policy" "singly" {
  queue_url = aws_sqs_queue.singly.url

  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.this.arn]
  })
}

resource "aws_sqs_queue_redrive_allow_policy" "this" {
  queue_url = aws_sqs_queue.dead_letters.url

  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.singly.arn]
  })
}

resource "aws_s3_bucket_notification" "this" {
  bucket = var.bucket

  dynamic "queue" {
    for_each = var.folders

    content {
      id            = queue.value
      queue_arn     = aws_sqs_queue.this.arn
      events        = ["s3:ObjectCreated:*"]
      filter_prefix = "${var.root}${queue.value}/"
    }
  }

  # S3 tries the queue when it is told of it.
  depends_on = [aws_sqs_queue_policy.this]
}

resource "aws_lambda_event_source_mapping" "this" {
  event_source_arn                   = aws_sqs_queue.this.arn
  function_name                      = var.function_arn
  batch_size                         = var.batch
  maximum_batching_window_in_seconds = var.window
  # Of a batch only the messages of the client that failed come again.
  function_response_types = ["ReportBatchItemFailures"]

  scaling_config {
    maximum_concurrency = var.concurrency
  }
}

resource "aws_lambda_event_source_mapping" "singly" {
  event_source_arn = aws_sqs_queue.singly.arn
  function_name    = var.function_arn
  batch_size       = 1

  # The least that Lambda takes.
  scaling_config {
    maximum_concurrency = 2
  }
}

locals {
  # Seconds between the end of an ingest's time and its messages' return.
  margin = 60
}
