output "id" {
  description = "Name of the bucket."
  value       = module.bucket.id
}

output "arn" {
  description = "ARN of the bucket."
  value       = module.bucket.arn
}

output "regional_domain_name" {
  description = "Host name by which clients reach the bucket."
  value       = module.bucket.regional_domain_name
}

output "settings" {
  description = "What stands only when the bucket is whole: for those that must come after, and be destroyed before."
  value       = concat(module.bucket.settings, [aws_s3_bucket_lifecycle_configuration.this.id])
}
