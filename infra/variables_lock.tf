variable "object_lock" {
  description = "Whether versions in the bucket can be locked. It can be chosen for a new bucket only; there is no lock for all objects, which would hold up prune."
  type        = bool
  default     = false
}

variable "locked_days" {
  description = "Days for which each new pack and manifest is locked; none without it. Needs `object_lock`."
  type        = number
  default     = null

  validation {
    condition     = var.locked_days == null ? true : var.object_lock && var.locked_days >= 1 && var.locked_days <= 36500 && floor(var.locked_days) == var.locked_days
    error_message = "Whole days, 1 to 36500, in a bucket with object_lock."
  }
}

variable "lock_mode" {
  description = "GOVERNANCE, or COMPLIANCE, which nobody can take back."
  type        = string
  default     = "GOVERNANCE"

  validation {
    condition     = contains(["GOVERNANCE", "COMPLIANCE"], var.lock_mode)
    error_message = "GOVERNANCE or COMPLIANCE."
  }
}
