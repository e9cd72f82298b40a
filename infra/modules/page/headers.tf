# What `copal serve` sends with the page, sent by CloudFront.

locals {
  policy = [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "style-src 'self'",
    "img-src 'self' blob:",
    "media-src 'self'",
    # The gateway is this origin; presigned addresses are the bucket's.
    "connect-src 'self' ${var.bucket_origin}",
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types copal",
  ]
  headers = {
    cross-origin-embedder-policy = "require-corp"
    cross-origin-opener-policy   = "same-origin"
    cross-origin-resource-policy = "same-origin"
    permissions-policy           = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), serial=(), hid=()"
  }
}

resource "aws_cloudfront_response_headers_policy" "this" {
  name    = "${var.name}-page"
  comment = "Nothing but what this origin gives runs, is shown or is talked to"

  security_headers_config {
    content_security_policy {
      content_security_policy = join("; ", local.policy)
      override                = true
    }
    content_type_options {
      override = true
    }
    referrer_policy {
      referrer_policy = "no-referrer"
      override        = true
    }
    strict_transport_security {
      access_control_max_age_sec = 63072000
      include_subdomains         = true
      override                   = true
    }
  }

  custom_headers_config {
    dynamic "items" {
      for_each = local.headers

      content {
        header   = items.key
        value    = items.value
        override = true
      }
    }
  }
}
