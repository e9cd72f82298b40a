variable "encryption" {
  description = "What S3 seals objects with at rest, beside Copal's own encryption: `aws:kms`, a key of this deployment, or `AES256`, S3's."
  type        = string
  default     = "aws:kms"

  validation {
    condition     = contains(["aws:kms", "AES256"], var.encryption)
    error_message = "aws:kms or AES256."
  }
}

variable "recovery_days" {
  description = "Days for which what was deleted, by prune or by anybody, can be brought back."
  type        = number
  default     = 30

  validation {
    condition     = var.recovery_days >= 7
    error_message = "At least 7: a deletion has to be noticed first."
  }
}

variable "cold_packs" {
  description = "Storage class of large packs, after how many days, and from how many bytes on. Tree packs (8 MiB) have to stay below that."
  type        = object({ class = string, after_days = optional(number, 30), larger_than = optional(number, 16777216) })
  default     = null

  validation {
    # From the others nothing can be read at once.
    condition     = var.cold_packs == null ? true : contains(["STANDARD_IA", "INTELLIGENT_TIERING", "GLACIER_IR"], var.cold_packs.class)
    error_message = "STANDARD_IA, INTELLIGENT_TIERING or GLACIER_IR."
  }

  validation {
    condition     = var.cold_packs == null ? true : var.cold_packs.after_days >= 30 && var.cold_packs.larger_than >= 16777216
    error_message = "After 30 days at least, and not below 16 MiB, which is twice a tree pack."
  }
}

variable "access_logs" {
  description = "Whether S3 writes a log of who asked the bucket for what."
  type        = bool
  default     = true
}

variable "inventory" {
  description = "Whether S3 writes a weekly list of all objects."
  type        = bool
  default     = false
}

variable "destroy_backups" {
  description = "Whether `terraform destroy` may destroy the backups. Both this and `destroy_backups_in` have to be set, and applied before."
  type        = bool
  default     = false
}

variable "destroy_backups_in" {
  description = "Name of the bucket whose backups may be destroyed."
  type        = string
  default     = ""
}
