# The page and the gateway at one address: a page talks to its own origin only.

locals {
  page    = "page"
  gateway = "gateway"
  # Managed policies of CloudFront, the same in every account.
  caching_optimized             = "658327ea-f89d-4fab-a63d-7e88639e58f6"
  caching_disabled              = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
  all_viewer_except_host_header = "b689b0a8-53d0-40ab-baf2-68738e2966ac"
}

resource "aws_cloudfront_distribution" "this" {
  comment             = "Copal ${var.name}: page and gateway"
  enabled             = true
  is_ipv6_enabled     = true
  http_version        = "http2and3"
  default_root_object = "index.html"
  price_class         = var.price_class
  aliases             = var.domain == null ? [] : [var.domain.name]
  web_acl_id          = var.web_acl_arn == null ? one(aws_wafv2_web_acl.this[*].arn) : var.web_acl_arn

  origin {
    origin_id                = local.page
    domain_name              = module.bucket.regional_domain_name
    origin_access_control_id = aws_cloudfront_origin_access_control.this.id
  }

  origin {
    origin_id   = local.gateway
    domain_name = trimprefix(var.gateway_url, "https://")

    # The gateway refuses whoever does not come this way. What a client sends under this name CloudFront replaces.
    custom_header {
      name  = "x-copal-via"
      value = var.via
    }

    custom_origin_config {
      http_port              = 80
      https_port             = 443
      origin_protocol_policy = "https-only"
      origin_ssl_protocols   = ["TLSv1.2"]
    }
  }

  default_cache_behavior {
    target_origin_id           = local.page
    allowed_methods            = ["GET", "HEAD"]
    cached_methods             = ["GET", "HEAD"]
    compress                   = true
    viewer_protocol_policy     = "redirect-to-https"
    cache_policy_id            = local.caching_optimized
    response_headers_policy_id = aws_cloudfront_response_headers_policy.this.id
  }

  ordered_cache_behavior {
    path_pattern             = "/v1/*"
    target_origin_id         = local.gateway
    allowed_methods          = ["GET", "HEAD", "OPTIONS", "PUT", "POST", "PATCH", "DELETE"]
    cached_methods           = ["GET", "HEAD"]
    viewer_protocol_policy   = "https-only"
    cache_policy_id          = local.caching_disabled
    origin_request_policy_id = local.all_viewer_except_host_header
  }

  restrictions {
    geo_restriction {
      restriction_type = "none"
    }
  }

  viewer_certificate {
    cloudfront_default_certificate = var.domain == null
    acm_certificate_arn            = try(var.domain.certificate_arn, null)
    ssl_support_method             = var.domain == null ? null : "sni-only"
    minimum_protocol_version       = var.domain == null ? "TLSv1" : "TLSv1.2_2021"
  }
}
