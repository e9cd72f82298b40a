# How clients without credentials of AWS reach the repository: one address for the gateway and, if there is one, the page.

module "gateway" {
  source = "./modules/gateway"

  name                = var.name
  function_name       = module.function["gateway"].name
  alias               = module.function["gateway"].alias
  invoke_arn          = module.function["gateway"].invoke_arn
  requests_per_second = var.throttle.requests_per_second
  requests_at_once    = var.throttle.requests_at_once
  log_retention_days  = var.log_retention_days
  kms_key_arn         = module.key.arn
}

module "page" {
  source = "./modules/page"
  count  = var.page ? 1 : 0

  name          = var.name
  partition     = local.partition
  bucket        = "${var.bucket}-page"
  folder        = "${var.release}/page"
  gateway_url   = module.gateway.url
  bucket_origin = "https://${var.bucket}.s3.${var.region}.amazonaws.com"
  domain        = var.domain
  web_acl_arn   = var.web_acl_arn
  via           = local.via

  requests_per_address = var.web_acl_arn == null ? var.throttle.requests_per_address : null
}

# Drawn once: what CloudFront alone can say to the gateway.
resource "terraform_data" "via" {
  input = uuid()

  lifecycle {
    ignore_changes = [input]
  }
}

locals {
  via = sensitive(terraform_data.via.output)
  # The API has no other way to let only CloudFront in, so the function asks for it.
  is_closed = var.page && !var.open_api

  page_url    = one(module.page[*].url)
  gateway_url = coalesce(local.page_url, module.gateway.url)
  # Requests are signed over the address by which their client knows the gateway. An address stays one of it when a page or a
  # name is added later.
  gateway_urls = distinct(compact([local.page_url, one(module.page[*].distribution_url), local.is_closed ? null : module.gateway.url]))
  # What there is is known at a first apply, the addresses are not.
  origins = merge(
    !var.page ? {} : { page = local.page_url, distribution = one(module.page[*].distribution_url) },
    var.cors == "" ? {} : { elsewhere = var.cors },
  )
}
