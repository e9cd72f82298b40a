variable "bucket" {
  description = "Name of the bucket."
  type        = string
}

variable "region" {
  description = "Region of the bucket; the provider's without it."
  type        = string
  default     = null
}

variable "kms_key_arn" {
  description = "Key that objects are sealed with by default; S3's own (SSE-S3) without it."
  type        = string
  default     = null
}

variable "versioned" {
  description = "Whether what is deleted or replaced stays as an earlier version."
  type        = bool
  default     = false
}

variable "object_lock" {
  description = "Whether versions can be locked. Only a new bucket can be given this."
  type        = bool
  default     = false
}

variable "force_destroy" {
  description = "Whether the bucket may be destroyed with what is in it."
  type        = bool
  default     = false
}

variable "statements" {
  description = "Statements of the bucket's policy, as a JSON list, besides the one that demands TLS."
  type        = string
  default     = "[]"
}
