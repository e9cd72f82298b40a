variable "name" {
  description = "Name of the deployment."
  type        = string
}

variable "account" {
  description = "Number of the account."
  type        = string
}

variable "jobs" {
  description = "When each job runs, in EventBridge's expressions, the alias of the function that does it, and how many runs divide the packs."
  type        = map(object({ expression = string, enabled = bool, function_arn = string, lanes = optional(number, 1) }))
}

variable "dead_letters_arn" {
  description = "Queue for jobs that could not be started."
  type        = string
}

variable "kms_key_arn" {
  description = "Key that the schedules are sealed with."
  type        = string
}
