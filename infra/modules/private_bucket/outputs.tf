output "id" {
  description = "Name of the bucket."
  value       = aws_s3_bucket.this.id
}

output "arn" {
  description = "ARN of the bucket."
  value       = aws_s3_bucket.this.arn
}

output "regional_domain_name" {
  description = "Host name by which the bucket is reached."
  value       = aws_s3_bucket.this.bucket_regional_domain_name
}
