mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  name                = "copal"
  function_name       = "copal-gateway"
  alias               = "live"
  invoke_arn          = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/copal-gateway:live/invocations"
  requests_per_second = 50
  requests_at_once    = 100
  log_retention_days  = 30
  kms_key_arn         = "arn:aws:kms:eu-central-1:111122223333:key/1"
}

run "requests_are_bounded_and_logged_without_what_is_secret" {
  command = apply

  module {
    source = "./modules/gateway"
  }

  assert {
    condition     = one(aws_apigatewayv2_stage.this.default_route_settings).throttling_rate_limit == 50 && one(aws_apigatewayv2_stage.this.default_route_settings).throttling_burst_limit == 100
    error_message = "Requests are not bounded."
  }

  assert {
    condition     = one(aws_apigatewayv2_stage.this.access_log_settings).destination_arn == aws_cloudwatch_log_group.this.arn && aws_cloudwatch_log_group.this.kms_key_id == var.kms_key_arn
    error_message = "Requests are not logged, or the log is not sealed."
  }

  assert {
    condition     = !can(regex("(?i)header|query|authorizer", one(aws_apigatewayv2_stage.this.access_log_settings).format))
    error_message = "The log tells more than who asked for what."
  }

  assert {
    condition     = aws_lambda_permission.this.source_arn == "${aws_apigatewayv2_api.this.execution_arn}/*/*" && aws_lambda_permission.this.qualifier == "live" && aws_lambda_permission.this.principal == "apigateway.amazonaws.com"
    error_message = "Another API may invoke the function, or it does so without the alias."
  }

  assert {
    condition     = aws_apigatewayv2_integration.this.payload_format_version == "2.0" && length(aws_apigatewayv2_api.this.cors_configuration) == 0
    error_message = "The function gets another form of requests, or does not answer preflights itself."
  }
}
