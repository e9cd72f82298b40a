output "url" {
  description = "Address of the page, which is the gateway's too."
  value       = "https://${local.host}"
}

output "distribution_url" {
  description = "Address of the page without a name of its own, which stays one when it gets a name."
  value       = "https://${aws_cloudfront_distribution.this.domain_name}"
}

output "distribution" {
  description = "Id of the distribution, by which what it has kept is dropped."
  value       = aws_cloudfront_distribution.this.id
}

output "web_acls" {
  description = "ARNs of the web ACLs that were made for it."
  value       = aws_wafv2_web_acl.this[*].arn
}

locals {
  host = var.domain == null ? aws_cloudfront_distribution.this.domain_name : var.domain.name
}
