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

output "settings" {
  description = "What stands only when it is all there: for those that must come after, and be destroyed before."
  value = [
    aws_s3_bucket_public_access_block.this.id,
    aws_s3_bucket_ownership_controls.this.id,
    aws_s3_bucket_server_side_encryption_configuration.this.id,
    aws_s3_bucket_versioning.this.id,
    aws_s3_bucket_policy.this.id,
  ]
}
