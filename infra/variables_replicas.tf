variable "replica_region" {
  description = "Region of a second bucket of this account that gets a copy of every object; none without it. Set it before the first apply: S3 copies nothing that was written earlier (docs/recovery.md says how to copy that)."
  type        = string
  default     = null

  validation {
    condition     = var.replica_region == null ? true : var.replica_region != var.region
    error_message = "Another region than that of the repository."
  }
}

variable "recovery_bucket" {
  description = "A bucket of another account that gets a copy of every object, as `examples/recovery` makes it; none without it. Set it before the first apply: S3 copies nothing that was written earlier (docs/recovery.md says how to copy that)."
  type        = object({ bucket_arn = string, account = string, kms_key_arn = string })
  default     = null
}

variable "replica_class" {
  description = "Storage class of copies."
  type        = string
  default     = "STANDARD_IA"
}
