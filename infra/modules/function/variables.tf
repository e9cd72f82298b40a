variable "deployment" {
  description = "Name of the deployment, with which the function's begins."
  type        = string
}

variable "handler" {
  description = "Which function of the program it is."
  type        = string
}

variable "description" {
  description = "What it does, in a sentence."
  type        = string
}

variable "zip" {
  description = "File with the program for arm64, as `cargo xtask lambda` makes it."
  type        = string
}

variable "pinned" {
  description = "Version that is used instead of the newest."
  type        = string
  default     = null
}

variable "statements" {
  description = "Statements of its role, as a JSON list."
  type        = string
}

variable "assumed_by" {
  description = "ARNs of whoever may take its role, besides the function."
  type        = list(string)
  default     = []
}

variable "environment" {
  description = "Its environment variables."
  type        = map(string)
}

variable "memory" {
  description = "Memory in MB; 1769 give a whole processor."
  type        = number
}

variable "storage" {
  description = "Temporary storage in MB."
  type        = number
  default     = 512
}

variable "timeout" {
  description = "Seconds that an invocation may take."
  type        = number
}

variable "concurrency" {
  description = "Invocations at a time that are reserved for it, and more there are not; -1 reserves and bounds nothing."
  type        = number
}

variable "log_retention_days" {
  description = "Days for which its log is kept."
  type        = number
}

variable "kms_key_arn" {
  description = "Key that its log and its variables are sealed with."
  type        = string
}

variable "dead_letters_arn" {
  description = "Queue for runs that failed for good."
  type        = string
}
