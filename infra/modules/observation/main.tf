# Who is told, and of what: every alarm says in its description what to do.

resource "aws_sns_topic" "this" {
  name              = "${var.name}-alarms"
  kms_master_key_id = var.kms_key_arn
}

resource "aws_sns_topic_policy" "this" {
  arn = aws_sns_topic.this.arn

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        # Publish by alarms and by the budget, of this account.
        Sid       = "Alarms"
        Effect    = "Allow"
        Principal = { Service = ["cloudwatch.amazonaws.com", "budgets.amazonaws.com"] }
        Action    = "sns:Publish"
        Resource  = aws_sns_topic.this.arn
        Condition = { StringEquals = { "aws:SourceAccount" = var.account } }
      },
      {
        # Publish by EventBridge, for the rules of changes and of alarms elsewhere. Towards a topic it sends no condition.
        Sid       = "Changes"
        Effect    = "Allow"
        Principal = { Service = "events.amazonaws.com" }
        Action    = "sns:Publish"
        Resource  = aws_sns_topic.this.arn
      },
      {
        # Every call: nothing is said to this topic in the clear.
        Sid       = "TlsOnly"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sns:Publish"
        Resource  = aws_sns_topic.this.arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
    ]
  })
}

resource "aws_sns_topic_subscription" "mail" {
  count     = var.email == null ? 0 : 1
  topic_arn = aws_sns_topic.this.arn
  protocol  = "email"
  endpoint  = var.email
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = merge(local.of_jobs, local.of_queues, local.of_functions, local.of_gateway, local.of_copies)

  alarm_name          = "${var.name}-${each.key}"
  region              = each.value.region
  alarm_description   = each.value.do
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = each.value.statistic
  period              = each.value.period
  evaluation_periods  = each.value.periods
  datapoints_to_alarm = each.value.periods
  comparison_operator = each.value.below ? "LessThanThreshold" : "GreaterThanThreshold"
  threshold           = each.value.threshold
  treat_missing_data  = each.value.missing
  actions_enabled     = var.hears_silence || each.value.missing != "breaching"
  # elsewhere.tf hears of the others.
  alarm_actions = each.value.region == var.region ? [aws_sns_topic.this.arn] : []
  ok_actions    = each.value.region == var.region ? [aws_sns_topic.this.arn] : []
}
