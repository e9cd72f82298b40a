variable "region" {
  description = "Region of the bucket."
  type        = string
}

variable "bucket" {
  description = "Name of the bucket."
  type        = string
}

variable "source_account" {
  description = "Number of the account that holds the repository."
  type        = string
}

variable "source_name" {
  description = "Name of the deployment there."
  type        = string
  default     = "copal"
}

variable "recovery_days" {
  description = "Days for which what was deleted in the repository stays here."
  type        = number
  default     = 90
}

variable "locked_days" {
  description = "Days for which every copy is locked. A copy of a locked source has the lock of its source instead."
  type        = number
  default     = 90
}

variable "lock_mode" {
  description = "GOVERNANCE, or COMPLIANCE, which nobody can take back."
  type        = string
  default     = "GOVERNANCE"
}

variable "restorers" {
  description = "ARNs of roles and users of this account that may delete single versions for now: what brings back copies that were hidden. Empty but while somebody does that."
  type        = list(string)
  default     = []
}
