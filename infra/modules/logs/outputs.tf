output "bucket" {
  description = "The bucket."
  value       = { id = module.bucket.id, arn = module.bucket.arn }
}
