variable "bucket_arn" {
  description = "ARN of the repository's bucket."
  type        = string
}

variable "root" {
  description = "What stands before the name of every object: empty, or a folder and a slash."
  type        = string
}

variable "kms_key_arn" {
  description = "Key of the functions' variables, and of objects if they are sealed with it."
  type        = string
}

variable "locks_objects" {
  description = "Whether new packs and manifests are locked."
  type        = bool
}

variable "seals_objects" {
  description = "Whether the repository's objects are sealed with that key."
  type        = bool
}
