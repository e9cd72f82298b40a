resource "aws_budgets_budget" "this" {
  count        = var.monthly_budget == null ? 0 : 1
  name         = "${var.name}-monthly"
  budget_type  = "COST"
  limit_amount = tostring(var.monthly_budget)
  limit_unit   = "USD"
  time_unit    = "MONTHLY"

  # Counts what bears this tag, once it is activated as a cost allocation tag.
  cost_filter {
    name   = "TagKeyValue"
    values = [format("user:Copal$%s", var.name)]
  }

  dynamic "notification" {
    for_each = { ACTUAL = 80, FORECASTED = 100 }

    content {
      notification_type         = notification.key
      threshold                 = notification.value
      threshold_type            = "PERCENTAGE"
      comparison_operator       = "GREATER_THAN"
      subscriber_sns_topic_arns = [aws_sns_topic.this.arn]
    }
  }
}
