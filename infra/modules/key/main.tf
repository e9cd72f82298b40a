# The key of AWS's own encryption at rest: logs, alarms, the functions' variables, and objects if so chosen. It has nothing to
# do with the repository's keys, which AWS never sees.

resource "aws_kms_key" "this" {
  description             = "Copal ${var.name}: encryption at rest"
  enable_key_rotation     = true
  deletion_window_in_days = 30

  lifecycle {
    # Without it nothing can be read. env/destroy/ has what lifts this.
    prevent_destroy = true
  }

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        # The account's administrators: a key that nobody may change is lost. What each role may do, its own policy says.
        Sid       = "Account"
        Effect    = "Allow"
        Principal = { AWS = "arn:${var.partition}:iam::${var.account}:root" }
        Action    = "kms:*"
        Resource  = "*"
      },
      {
        # CloudWatch Logs seals the functions' and the gateway's log groups.
        Sid       = "Logs"
        Effect    = "Allow"
        Principal = { Service = "logs.${var.region}.amazonaws.com" }
        Action    = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey", "kms:DescribeKey"]
        Resource  = "*"
        Condition = {
          ArnLike = {
            "kms:EncryptionContext:aws:logs:arn" = "arn:${var.partition}:logs:${var.region}:${var.account}:log-group:/copal/${var.name}/*"
          }
        }
      },
      {
        # Alarms and the budget publish to the sealed topic.
        Sid       = "Alarms"
        Effect    = "Allow"
        Principal = { Service = ["cloudwatch.amazonaws.com", "budgets.amazonaws.com"] }
        Action    = ["kms:GenerateDataKey", "kms:Decrypt"]
        Resource  = "*"
        Condition = { StringEquals = { "aws:SourceAccount" = var.account } }
      },
      {
        # EventBridge publishes to the sealed topic what is changed. Towards a sealed topic it sends no condition.
        Sid       = "Changes"
        Effect    = "Allow"
        Principal = { Service = "events.amazonaws.com" }
        Action    = ["kms:GenerateDataKey", "kms:Decrypt"]
        Resource  = "*"
      },
    ]
  })
}

resource "aws_kms_alias" "this" {
  name          = "alias/copal-${var.name}"
  target_key_id = aws_kms_key.this.key_id
}
