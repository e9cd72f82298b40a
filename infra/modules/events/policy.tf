locals {
  tls_only = {
    Sid       = "TlsOnly"
    Effect    = "Deny"
    Principal = "*"
    Action    = "sqs:*"
    Condition = { Bool = { "aws:SecureTransport" = "false" } }
  }
}

resource "aws_sqs_queue_policy" "this" {
  queue_url = aws_sqs_queue.this.url

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        # SendMessage by S3, for notifications of this bucket of this account.
        Sid       = "Notifications"
        Effect    = "Allow"
        Principal = { Service = "s3.amazonaws.com" }
        Action    = "sqs:SendMessage"
        Resource  = aws_sqs_queue.this.arn
        Condition = {
          ArnEquals    = { "aws:SourceArn" = var.bucket_arn }
          StringEquals = { "aws:SourceAccount" = var.account }
        }
      },
      # Every call: nothing is said to this queue in the clear.
      merge(local.tls_only, { Resource = aws_sqs_queue.this.arn }),
    ]
  })
}

resource "aws_sqs_queue_policy" "singly" {
  queue_url = aws_sqs_queue.singly.url

  policy = jsonencode({
    Version = "2012-10-17"
    # Every call, as above.
    Statement = [merge(local.tls_only, { Resource = aws_sqs_queue.singly.arn })]
  })
}

resource "aws_sqs_queue_policy" "dead_letters" {
  queue_url = aws_sqs_queue.dead_letters.url

  policy = jsonencode({
    Version = "2012-10-17"
    # Every call, as above.
    Statement = [merge(local.tls_only, { Resource = aws_sqs_queue.dead_letters.arn })]
  })
}
