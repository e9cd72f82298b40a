# Where scheduled runs end that could not be started or failed for good: one message each, for the alarm and a person.

resource "aws_sqs_queue" "this" {
  name                      = "${var.name}-failed-runs"
  message_retention_seconds = 14 * 24 * 3600
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue_policy" "this" {
  queue_url = aws_sqs_queue.this.url

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      # Every call: nothing is said to this queue in the clear.
      Sid       = "TlsOnly"
      Effect    = "Deny"
      Principal = "*"
      Action    = "sqs:*"
      Resource  = aws_sqs_queue.this.arn
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}
