# The queue of what happened in the bucket, the one of what has to come a second time, and the dead letters.

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

locals {
  # Seconds between the end of an ingest's time and its messages' return.
  margin = 60
}
