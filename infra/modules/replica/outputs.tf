output "bucket_arn" {
  description = "ARN of the bucket."
  value       = module.bucket.arn
}

output "kms_key_arn" {
  description = "Key that copies are sealed with."
  value       = aws_kms_key.this.arn
}
