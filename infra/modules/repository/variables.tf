variable "bucket" {
  description = "Name of the bucket."
  type        = string
}

variable "root" {
  description = "What stands before the name of every object: empty, or a folder and a slash."
  type        = string
}

variable "kms_key_arn" {
  description = "Key that objects are sealed with; S3's own without it."
  type        = string
  default     = null
}

variable "object_lock" {
  description = "Whether versions of objects can be locked."
  type        = bool
}

variable "locks_objects" {
  description = "Whether clients create packs and manifests locked."
  type        = bool
}

variable "origins" {
  description = "Web origins whose pages may use presigned addresses, by what they are."
  type        = map(string)
}

variable "recovery_days" {
  description = "Days for which what was deleted stays as an earlier version."
  type        = number
}

variable "cold_packs" {
  description = "Storage class of large packs, after how many days, and from how many bytes on; none without it."
  type        = object({ class = string, after_days = number, larger_than = number })
  default     = null
}

variable "access_logs" {
  description = "Whether S3 writes a log of who asked the bucket for what into the log bucket."
  type        = bool
}

variable "log_bucket" {
  description = "Bucket for access logs and inventories."
  type        = object({ id = string, arn = string })
}

variable "inventory" {
  description = "Whether S3 writes a weekly list of all objects into the log bucket."
  type        = bool
}

variable "force_destroy" {
  description = "Whether the bucket may be destroyed with the backups in it."
  type        = bool
}

variable "partition" {
  description = "Partition of AWS, such as aws."
  type        = string
}
