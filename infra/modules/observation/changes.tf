# Who is told when somebody touches what keeps the backups: settings of the buckets, and keys. CloudTrail tells EventBridge, if
# the account has a trail of management events.

locals {
  settings = [{ prefix = "PutBucket" }, { prefix = "DeleteBucket" }]
  of_keys  = ["ScheduleKeyDeletion", "CancelKeyDeletion", "DisableKey", "EnableKey", "DisableKeyRotation", "PutKeyPolicy"]
  bus      = "arn:${var.partition}:events:${var.region}:${var.account}:event-bus/default"
  others   = setsubtract(concat(keys(var.watched), keys(local.elsewhere)), [var.region])
}

# One for each region; what other regions tell comes to this one, and is told here.
resource "aws_cloudwatch_event_rule" "changes" {
  for_each = var.watched

  name        = "${var.name}-changes"
  region      = each.key
  description = "Somebody changes a bucket of Copal, or a key"

  event_pattern = jsonencode({
    detail-type = ["AWS API Call via CloudTrail"]
    "$or" = [
      {
        source = ["aws.s3"]
        detail = {
          eventName         = local.settings
          requestParameters = { bucketName = flatten([for at, of in var.watched : of.buckets if at == each.key || each.key == var.region]) }
        }
      },
      {
        source = ["aws.kms"]
        detail = {
          eventName = local.of_keys
          resources = { ARN = flatten([for at, of in var.watched : of.keys if at == each.key || each.key == var.region]) }
        }
      },
    ]
  })
}

resource "aws_cloudwatch_event_target" "changes" {
  for_each = var.watched

  rule     = aws_cloudwatch_event_rule.changes[each.key].name
  region   = each.key
  arn      = each.key == var.region ? aws_sns_topic.this.arn : local.bus
  role_arn = each.key == var.region ? null : one(aws_iam_role.changes[*].arn)
}

resource "aws_iam_role" "changes" {
  count       = length(local.others) == 0 ? 0 : 1
  name        = "${var.name}-changes"
  description = "Tells this region what is changed in others, and which alarms begin there"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      # AssumeRole by EventBridge, for this account.
      Sid       = "Changes"
      Effect    = "Allow"
      Principal = { Service = "events.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = { StringEquals = { "aws:SourceAccount" = var.account } }
    }]
  })
}
