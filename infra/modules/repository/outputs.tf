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
