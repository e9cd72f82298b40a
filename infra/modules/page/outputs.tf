output "url" {
  description = "Address of the page, which is the gateway's too."
  value       = "https://${local.host}"
}

output "distribution" {
  description = "Id of the distribution, by which what it has kept is dropped."
  value       = aws_cloudfront_distribution.this.id
}

locals {
  host = var.domain == null ? aws_cloudfront_distribution.this.domain_name : var.domain.name
}
