output "topic_arn" {
  description = "ARN of the topic that alarms are told to."
  value       = aws_sns_topic.this.arn
}

output "dashboard" {
  description = "Name of the dashboard."
  value       = aws_cloudwatch_dashboard.this.dashboard_name
}
