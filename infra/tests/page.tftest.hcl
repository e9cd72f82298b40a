mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  name          = "copal"
  partition     = "aws"
  bucket        = "example-copal-page"
  folder        = "./tests/release/page"
  gateway_url   = "https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"
  bucket_origin = "https://example-copal.s3.eu-central-1.amazonaws.com"
  via           = "a secret"
}

run "the_page_is_read_through_cloudfront_alone_and_nothing_of_it_is_kept_too_long" {
  command = apply

  module {
    source = "./modules/page"
  }

  assert {
    condition     = [for origin in aws_cloudfront_distribution.this.origin : origin.origin_access_control_id if origin.origin_id == "page"] == [aws_cloudfront_origin_access_control.this.id]
    error_message = "CloudFront does not sign its requests of the bucket."
  }

  assert {
    condition     = aws_cloudfront_origin_access_control.this.signing_behavior == "always"
    error_message = "CloudFront does not always sign."
  }

  assert {
    condition     = toset(keys(aws_s3_object.this)) == toset(["index.html", "share.html", "assets/a-1.js", "assets/a-1.wasm"])
    error_message = "Files are missing, or compressed copies are stored."
  }

  assert {
    condition = { for name, made in aws_s3_object.this : name => [made.content_type, made.cache_control] } == {
      "index.html"      = ["text/html; charset=utf-8", "no-cache"]
      "share.html"      = ["text/html; charset=utf-8", "no-cache"]
      "assets/a-1.js"   = ["text/javascript; charset=utf-8", "public, max-age=31536000, immutable"]
      "assets/a-1.wasm" = ["application/wasm", "public, max-age=31536000, immutable"]
    }
    error_message = "A file has the wrong type, or is kept too long."
  }

  assert {
    condition     = aws_s3_object.this["share.html"].key == "share" && aws_s3_object.this["index.html"].key == "index.html"
    error_message = "The page of links is not where links lead."
  }

  assert {
    condition     = one(aws_cloudfront_distribution.this.default_cache_behavior).viewer_protocol_policy == "redirect-to-https" && one(aws_cloudfront_distribution.this.default_cache_behavior).response_headers_policy_id == aws_cloudfront_response_headers_policy.this.id
    error_message = "The page is given in the clear, or without its headers."
  }
}

run "the_gateway_is_at_the_pages_origin_and_is_never_cached" {
  command = apply

  module {
    source = "./modules/page"
  }

  assert {
    condition     = [for behavior in aws_cloudfront_distribution.this.ordered_cache_behavior : [behavior.path_pattern, behavior.target_origin_id, behavior.cache_policy_id, behavior.viewer_protocol_policy]] == [["/v1/*", "gateway", local.caching_disabled, "https-only"]]
    error_message = "Requests of the gateway go elsewhere, or their answers are kept."
  }

  assert {
    condition     = [for origin in aws_cloudfront_distribution.this.origin : origin.domain_name if origin.origin_id == "gateway"] == ["a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"]
    error_message = "The gateway is another one."
  }

  assert {
    condition     = output.url == "https://d111111abcdef8.cloudfront.net" && length(aws_route53_record.this) == 0
    error_message = "The page is elsewhere than it says."
  }
}

run "the_gateway_hears_that_a_request_comes_through_cloudfront" {
  command = apply

  module {
    source = "./modules/page"
  }

  assert {
    condition     = { for origin in aws_cloudfront_distribution.this.origin : origin.origin_id => [for header in origin.custom_header : "${header.name}: ${nonsensitive(header.value)}"] } == { page = [], gateway = ["x-copal-via: a secret"] }
    error_message = "The gateway does not hear it, or somebody else does."
  }

  assert {
    condition     = length(aws_wafv2_web_acl.this) == 0 && aws_cloudfront_distribution.this.web_acl_id == null
    error_message = "A bound that nobody asked for."
  }
}

run "one_address_cannot_use_up_what_all_may_ask" {
  command = apply

  module {
    source = "./modules/page"
  }

  variables {
    requests_per_address = 3000
  }

  assert {
    condition     = [for rule in jsondecode(aws_wafv2_web_acl.this[0].rule_json) : [rule.Action, rule.Statement]] == [[{ Block = { CustomResponse = { ResponseCode = 429 } } }, { RateBasedStatement = { Limit = 3000, EvaluationWindowSec = 300, AggregateKeyType = "IP" } }]]
    error_message = "Addresses are not counted each by itself, or are not refused."
  }

  assert {
    condition     = aws_cloudfront_distribution.this.web_acl_id == aws_wafv2_web_acl.this[0].arn && aws_wafv2_web_acl.this[0].scope == "CLOUDFRONT" && aws_wafv2_web_acl.this[0].region == "us-east-1"
    error_message = "The bound does not stand before CloudFront."
  }
}

run "with_a_name_a_certificate_and_a_web_acl" {
  command = apply

  module {
    source = "./modules/page"
  }

  variables {
    domain      = { name = "backup.example.org", certificate_arn = "arn:aws:acm:us-east-1:111122223333:certificate/1", zone_id = "Z1" }
    web_acl_arn = "arn:aws:wafv2:us-east-1:111122223333:global/webacl/copal/1"
  }

  assert {
    condition     = output.url == "https://backup.example.org" && aws_cloudfront_distribution.this.aliases == toset(["backup.example.org"]) && keys(aws_route53_record.this) == ["A", "AAAA"]
    error_message = "The name does not lead to the page."
  }

  assert {
    condition     = one(aws_cloudfront_distribution.this.viewer_certificate).minimum_protocol_version == "TLSv1.2_2021" && aws_cloudfront_distribution.this.web_acl_id == var.web_acl_arn
    error_message = "Old versions of TLS are taken, or the web ACL does not stand before it."
  }
}
