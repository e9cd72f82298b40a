# Alarms in other regions cannot publish to the topic of this one. Their events come here, as those of changes do.

locals {
  # Names of these alarms, by region.
  elsewhere = { for name, alarm in local.of_copies : alarm.region => "${var.name}-${name}"... if alarm.region != var.region }
  heard     = merge(local.elsewhere, { for region in [var.region] : region => flatten(values(local.elsewhere)) if length(local.elsewhere) > 0 })
}

resource "aws_cloudwatch_event_rule" "elsewhere" {
  for_each = local.heard

  name        = "${var.name}-alarms"
  region      = each.key
  description = "An alarm of Copal in another region begins or ends"

  event_pattern = jsonencode({
    source      = ["aws.cloudwatch"]
    detail-type = ["CloudWatch Alarm State Change"]
    detail      = { alarmName = each.value, state = { value = ["ALARM", "OK"] } }
  })
}

resource "aws_cloudwatch_event_target" "elsewhere" {
  for_each = local.heard

  rule     = aws_cloudwatch_event_rule.elsewhere[each.key].name
  region   = each.key
  arn      = each.key == var.region ? aws_sns_topic.this.arn : local.bus
  role_arn = each.key == var.region ? null : one(aws_iam_role.changes[*].arn)
}
