variable "name" {
  description = "Name of the deployment."
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

variable "region" {
  description = "Region of the deployment."
  type        = string
}
