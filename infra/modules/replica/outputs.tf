output "bucket_arn" {
  description = "ARN of the bucket."
  value       = module.bucket.arn
}

output "kms_key_arn" {
  description = "Key that copies are sealed with."
  value       = aws_kms_key.this.arn
}

output "settings" {
  description = "What stands only when the bucket is whole: for those that must come after, and be destroyed before."
  value       = concat(module.bucket.settings, [aws_s3_bucket_lifecycle_configuration.this.id])
}
