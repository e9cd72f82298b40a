resource "aws_route53_record" "this" {
  for_each = try(var.domain.zone_id, null) == null ? toset([]) : toset(["A", "AAAA"])

  zone_id = var.domain.zone_id
  name    = var.domain.name
  type    = each.value

  alias {
    name                   = aws_cloudfront_distribution.this.domain_name
    zone_id                = aws_cloudfront_distribution.this.hosted_zone_id
    evaluate_target_health = false
  }
}
