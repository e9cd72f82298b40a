variable "name" {
  description = "Name of the deployment."
  type        = string
}

variable "function_name" {
  description = "Name of the gateway's function."
  type        = string
}

variable "alias" {
  description = "Name of its alias."
  type        = string
}

variable "invoke_arn" {
  description = "ARN by which an API invokes the alias."
  type        = string
}

variable "requests_per_second" {
  description = "Requests a second, of all clients together, above which some are refused."
  type        = number
}

variable "requests_at_once" {
  description = "Requests that may come at once before that counts."
  type        = number
}

variable "log_retention_days" {
  description = "Days for which the log of requests is kept."
  type        = number
}

variable "kms_key_arn" {
  description = "Key that the log of requests is sealed with."
  type        = string
}
