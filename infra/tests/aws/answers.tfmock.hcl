# What AWS would answer, so far as it is seen: names that are what they would be, for policies that are evaluated.

mock_data "aws_caller_identity" {
  defaults = { account_id = "111122223333" }
}

mock_data "aws_iam_session_context" {
  defaults = { issuer_arn = "arn:aws:iam::111122223333:role/me" }
}

mock_data "aws_partition" {
  defaults = { partition = "aws" }
}

mock_resource "aws_kms_key" {
  defaults = { arn = "arn:aws:kms:eu-central-1:111122223333:key/0a0a0a0a-0000-4000-8000-000000000000" }
}

mock_resource "aws_cloudwatch_log_group" {
  defaults = { arn = "arn:aws:logs:eu-central-1:111122223333:log-group:/copal/log" }
}

mock_resource "aws_sns_topic" {
  defaults = { arn = "arn:aws:sns:eu-central-1:111122223333:alarms" }
}

mock_resource "aws_scheduler_schedule_group" {
  defaults = { arn = "arn:aws:scheduler:eu-central-1:111122223333:schedule-group/copal" }
}

mock_resource "aws_apigatewayv2_api" {
  defaults = {
    id            = "a1b2c3d4e5"
    api_endpoint  = "https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"
    execution_arn = "arn:aws:execute-api:eu-central-1:111122223333:a1b2c3d4e5"
  }
}

mock_resource "aws_cloudfront_distribution" {
  defaults = {
    arn            = "arn:aws:cloudfront::111122223333:distribution/E1"
    domain_name    = "d111111abcdef8.cloudfront.net"
    hosted_zone_id = "Z2FDTNDATAQYW2"
  }
}

mock_resource "aws_cloudwatch_metric_alarm" {
  defaults = { arn = "arn:aws:cloudwatch:eu-central-1:111122223333:alarm:alarm" }
}

mock_resource "aws_iam_role" {
  defaults = { arn = "arn:aws:iam::111122223333:role/other" }
}

mock_resource "aws_s3_bucket" {
  defaults = {
    arn                         = "arn:aws:s3:::other"
    bucket_regional_domain_name = "other.s3.eu-central-1.amazonaws.com"
  }
}

mock_data "aws_servicequotas_service_quota" {
  defaults = { value = 1000 }
}

mock_resource "aws_cloudwatch_event_rule" {
  defaults = { arn = "arn:aws:events:eu-central-1:111122223333:rule/copal-changes" }
}
