# From a new manifest or change in the bucket to the ingest that decides about it.

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
  enabled                            = var.enabled
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
  enabled          = var.enabled
  batch_size       = 1

  # The least that Lambda takes.
  scaling_config {
    maximum_concurrency = 2
  }
}
