variable "name" {
  description = "Name of the deployment."
  type        = string
}

variable "partition" {
  description = "Partition of AWS, such as aws."
  type        = string
}

variable "bucket" {
  description = "Name of the page's bucket."
  type        = string
}

variable "folder" {
  description = "Folder with the built page."
  type        = string
}

variable "gateway_url" {
  description = "Address of the gateway's API."
  type        = string
}

variable "bucket_origin" {
  description = "Origin of the addresses that the gateway presigns."
  type        = string
}

variable "domain" {
  description = "Name of its own, the certificate for it (in us-east-1), and the zone that gets the records."
  type        = object({ name = string, certificate_arn = string, zone_id = optional(string) })
  default     = null
}

variable "web_acl_arn" {
  description = "Web ACL of AWS WAF (in us-east-1) before the page and the gateway, instead of one of this module."
  type        = string
  default     = null
}

variable "requests_per_address" {
  description = "Requests that one address may send in five minutes; no bound without it."
  type        = number
  default     = null
}

variable "via" {
  description = "What CloudFront tells the gateway, so that it knows who asks."
  type        = string
  sensitive   = true
}

variable "price_class" {
  description = "Where CloudFront serves from."
  type        = string
  default     = "PriceClass_100"
}
