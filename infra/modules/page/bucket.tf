resource "aws_cloudfront_origin_access_control" "this" {
  name                              = "${var.name}-page"
  description                       = "CloudFront alone reads the page's bucket"
  origin_access_control_origin_type = "s3"
  signing_behavior                  = "always"
  signing_protocol                  = "sigv4"
}

module "bucket" {
  source = "../private_bucket"

  bucket = var.bucket
  # It holds what everybody may read who has the address, and can be built again.
  force_destroy = true

  statements = jsonencode([{
    # GetObject by CloudFront, for this distribution.
    Sid       = "Page"
    Effect    = "Allow"
    Principal = { Service = "cloudfront.amazonaws.com" }
    Action    = "s3:GetObject"
    Resource  = "arn:${var.partition}:s3:::${var.bucket}/*"
    Condition = { StringEquals = { "AWS:SourceArn" = aws_cloudfront_distribution.this.arn } }
  }])
}

locals {
  # CloudFront compresses by itself.
  files = toset([for file in fileset(var.folder, "**") : file if !endswith(file, ".br") && !endswith(file, ".gz")])
  types = {
    css         = "text/css; charset=utf-8"
    html        = "text/html; charset=utf-8"
    ico         = "image/x-icon"
    js          = "text/javascript; charset=utf-8"
    json        = "application/json"
    map         = "application/json"
    png         = "image/png"
    svg         = "image/svg+xml"
    txt         = "text/plain; charset=utf-8"
    wasm        = "application/wasm"
    webmanifest = "application/manifest+json"
    woff2       = "font/woff2"
  }
}

resource "aws_s3_object" "this" {
  for_each = local.files

  bucket = module.bucket.id
  # As links name it.
  key          = each.value == "share.html" ? "share" : each.value
  source       = "${var.folder}/${each.value}"
  source_hash  = filesha256("${var.folder}/${each.value}")
  content_type = lookup(local.types, reverse(split(".", each.value))[0], "application/octet-stream")
  # What lies in assets/ is named by its content; the rest is asked for anew.
  cache_control = startswith(each.value, "assets/") ? "public, max-age=31536000, immutable" : "no-cache"
}
