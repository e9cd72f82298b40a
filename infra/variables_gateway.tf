variable "open_slots" {
  description = "Whether anybody may read key slots, which are then open to guessing of passphrases. A page, or a new machine that knows only the passphrase, needs it."
  type        = bool
  default     = false
}

variable "quota" {
  description = "Bytes of packs that a domain may hold; no bound without it."
  type        = number
  default     = null
}

variable "daily_quota" {
  description = "Bytes of packs that a domain may add within a day; no bound without it."
  type        = number
  default     = null
}

variable "throttle" {
  description = "Requests a second, of all clients together, above which the gateway refuses some, how many may come at once, and how many one address may send in five minutes (of a deployment with a page; null sets no bound)."
  type = object({
    requests_per_second  = optional(number, 50)
    requests_at_once     = optional(number, 100)
    requests_per_address = optional(number, 3000)
  })
  default = {}

  validation {
    condition     = var.throttle.requests_per_address == null ? true : var.throttle.requests_per_address >= 10 && var.throttle.requests_per_address <= 2000000000
    error_message = "AWS WAF takes 10 to 2000000000 requests of one address."
  }
}

variable "cors" {
  description = "Origin of a page elsewhere that may use the gateway; none without it."
  type        = string
  default     = ""
}

variable "page" {
  description = "Whether the release's page is served, and the gateway at its address."
  type        = bool
  default     = true
}

variable "domain" {
  description = "The page's and the gateway's own name, its certificate (in us-east-1), and the zone of Route 53 that gets the records, if there is one."
  type        = object({ name = string, certificate_arn = string, zone_id = optional(string) })
  default     = null

  validation {
    condition     = var.domain == null ? true : var.page && can(regex("^arn:[^:]+:acm:us-east-1:", var.domain.certificate_arn))
    error_message = "A name is for a deployment with a page, and its certificate lies in us-east-1."
  }
}

variable "web_acl_arn" {
  description = "Web ACL of AWS WAF (in us-east-1) before the page and the gateway, instead of the deployment's own, which has the rate of `throttle`."
  type        = string
  default     = null
}

variable "open_api" {
  description = "Whether the gateway also answers at the address of its API, past CloudFront and the rate of single addresses. Without a page that is its address."
  type        = bool
  default     = false
}
