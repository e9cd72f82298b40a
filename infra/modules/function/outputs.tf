output "name" {
  description = "Name of the function."
  value       = aws_lambda_function.this.function_name
}

output "alias_arn" {
  description = "ARN of the alias by which it is invoked."
  value       = aws_lambda_alias.this.arn
}

output "invoke_arn" {
  description = "ARN by which an API invokes the alias."
  value       = aws_lambda_alias.this.invoke_arn
}

output "alias" {
  description = "Name of the alias."
  value       = aws_lambda_alias.this.name
}

output "version" {
  description = "Version that the alias points at."
  value       = aws_lambda_alias.this.function_version
}

output "role_arn" {
  description = "ARN of its role."
  value       = aws_iam_role.this.arn
}

output "log_group" {
  description = "Name of its log."
  value       = aws_cloudwatch_log_group.this.name
}
