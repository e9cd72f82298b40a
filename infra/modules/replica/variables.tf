variable "bucket" {
  description = "Name of the bucket."
  type        = string
}

variable "region" {
  description = "Its region; the provider's without it."
  type        = string
  default     = null
}

variable "partition" {
  description = "Partition of AWS, such as aws."
  type        = string
}

variable "account" {
  description = "Number of the account that it lies in."
  type        = string
}

variable "source_role_arn" {
  description = "Role that replicates, if it is of another account."
  type        = string
  default     = null
}

variable "restorers" {
  description = "ARNs of roles and users that may delete single versions for now."
  type        = list(string)
  default     = []
}

variable "recovery_days" {
  description = "Days for which what was deleted at the source stays here."
  type        = number
}

variable "locked_days" {
  description = "Days for which every copy is locked; none without it. A copy of a locked source has the lock of its source instead."
  type        = number
  default     = null
}

variable "lock_mode" {
  description = "GOVERNANCE, or COMPLIANCE, which nobody can take back."
  type        = string
  default     = "GOVERNANCE"
}

variable "force_destroy" {
  description = "Whether the bucket may be destroyed with the copies in it."
  type        = bool
  default     = false
}
