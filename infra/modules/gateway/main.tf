# The gateway's address: an HTTP API before the function, because it bounds requests and logs each, which a function URL does
# not (decision 0020).

resource "aws_apigatewayv2_api" "this" {
  name          = "${var.name}-gateway"
  description   = "Copal's gateway: signed requests of clients without credentials of AWS"
  protocol_type = "HTTP"
}

# The function itself says what pages of other origins may do, and refuses what is not signed.
resource "aws_apigatewayv2_integration" "this" {
  api_id                 = aws_apigatewayv2_api.this.id
  integration_type       = "AWS_PROXY"
  integration_uri        = var.invoke_arn
  payload_format_version = "2.0"
  timeout_milliseconds   = 30000
}

resource "aws_apigatewayv2_route" "this" {
  api_id             = aws_apigatewayv2_api.this.id
  route_key          = "ANY /v1/{rest+}"
  target             = "integrations/${aws_apigatewayv2_integration.this.id}"
  authorization_type = "NONE"
}

resource "aws_apigatewayv2_stage" "this" {
  api_id      = aws_apigatewayv2_api.this.id
  name        = "$default"
  auto_deploy = true

  default_route_settings {
    throttling_rate_limit    = var.requests_per_second
    throttling_burst_limit   = var.requests_at_once
    detailed_metrics_enabled = true
  }

  # No query and no header: neither is needed to see who asked for what.
  access_log_settings {
    destination_arn = aws_cloudwatch_log_group.this.arn
    format = jsonencode({
      time     = "$context.requestTime"
      address  = "$context.identity.sourceIp"
      method   = "$context.httpMethod"
      path     = "$context.path"
      status   = "$context.status"
      bytes    = "$context.responseLength"
      took     = "$context.responseLatency"
      error    = "$context.integrationErrorMessage"
      function = "$context.integrationStatus"
      request  = "$context.requestId"
    })
  }
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/copal/${var.name}/requests"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn
}

# Invoke by this API, on any path: signatures decide, in the function.
resource "aws_lambda_permission" "this" {
  statement_id  = "api"
  action        = "lambda:InvokeFunction"
  function_name = var.function_name
  qualifier     = var.alias
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_apigatewayv2_api.this.execution_arn}/*/*"
}
