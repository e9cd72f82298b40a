# Who asks too often is refused before anything else is asked: one address cannot use up what all clients together may ask.

resource "aws_wafv2_web_acl" "this" {
  count = var.requests_per_address == null ? 0 : 1

  name        = "${var.name}-page"
  description = "Bounds what one address may ask of the page and the gateway of Copal"
  scope       = "CLOUDFRONT"
  # What stands before CloudFront lies there.
  region = "us-east-1"

  default_action {
    allow {}
  }

  rule_json = jsonencode([{
    Name      = "rate"
    Priority  = 1
    Action    = { Block = { CustomResponse = { ResponseCode = 429 } } }
    Statement = { RateBasedStatement = { Limit = var.requests_per_address, EvaluationWindowSec = 300, AggregateKeyType = "IP" } }
    VisibilityConfig = {
      CloudWatchMetricsEnabled = true
      MetricName               = "${var.name}-rate"
      SampledRequestsEnabled   = false
    }
  }])

  visibility_config {
    cloudwatch_metrics_enabled = true
    metric_name                = "${var.name}-page"
    sampled_requests_enabled   = false
  }
}
