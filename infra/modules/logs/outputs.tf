output "bucket" {
  description = "The bucket."
  value       = { id = module.bucket.id, arn = module.bucket.arn }

  # S3 refuses to log into a bucket whose policy does not let it in yet.
  depends_on = [module.bucket]
}
