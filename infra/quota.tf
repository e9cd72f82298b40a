# New accounts may run 10 functions at once, and AWS leaves 100 to whatever reserves none. A warning, because not everybody who
# applies may ask for quotas.

check "concurrency" {
  data "aws_servicequotas_service_quota" "lambda" {
    service_code = "lambda"
    quota_code   = "L-B99A9384"
  }

  assert {
    condition     = !var.reserve_concurrency || data.aws_servicequotas_service_quota.lambda.value >= 100 + sum([for reserved in values(local.concurrency) : max(reserved, 0)])
    error_message = "This account may run too few functions at once to reserve some, and the apply will fail: ask AWS for a higher quota of Lambda (L-B99A9384), or set reserve_concurrency = false."
  }
}

locals {
  # Every lane of a check runs at the same time.
  concurrency = {
    for function, settings in var.functions : function => function == "check" && settings.concurrency >= 0 ? max(settings.concurrency, var.check_lanes) : settings.concurrency
  }
}
