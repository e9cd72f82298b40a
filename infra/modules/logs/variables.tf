variable "bucket" {
  description = "Name of the bucket for logs."
  type        = string
}

variable "partition" {
  description = "Partition of AWS, such as aws."
  type        = string
}

variable "account" {
  description = "Number of the account."
  type        = string
}

variable "source_arn" {
  description = "ARN of the bucket that is watched."
  type        = string
}

variable "retention_days" {
  description = "Days for which logs are kept."
  type        = number
}

variable "force_destroy" {
  description = "Whether the bucket may be destroyed with the logs in it."
  type        = bool
}
