output "role_arn" {
  description = "ARN of the role that replicates."
  value       = aws_iam_role.this.arn
}
