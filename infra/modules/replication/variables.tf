variable "name" {
  description = "Name of the deployment."
  type        = string
}

variable "bucket" {
  description = "Name of the repository's bucket."
  type        = string
}

variable "bucket_arn" {
  description = "ARN of the repository's bucket."
  type        = string
}

variable "kms_key_arn" {
  description = "Key that the repository's objects are sealed with, or were."
  type        = string
}

variable "destinations" {
  description = "Where copies go, by name: bucket, account, the key that they are sealed with there, storage class."
  type = map(object({
    bucket_arn    = string
    account       = string
    kms_key_arn   = string
    storage_class = string
  }))
}
