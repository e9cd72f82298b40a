variable "name" {
  description = "Name of the deployment."
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

variable "kms_key_arn" {
  description = "Key that the topic is sealed with."
  type        = string
}

variable "namespace" {
  description = "Namespace of the functions' metrics."
  type        = string
}

variable "repository" {
  description = "Dimension of the functions' metrics: the bucket, and the folder in it."
  type        = string
}

variable "functions" {
  description = "Names of the functions, by what they are."
  type        = map(string)
}

variable "timeouts" {
  description = "Seconds that each function may take."
  type        = map(number)
}

variable "queues" {
  description = "Names of the queues that ingest reads, by the alarm that tells how old their messages are."
  type        = map(string)
}

variable "dead_letters" {
  description = "Names of the queues that must be empty, by the alarm's name."
  type        = map(string)
}

variable "api" {
  description = "Id of the gateway's API."
  type        = string
}

variable "partition" {
  description = "Partition of AWS, such as aws."
  type        = string
}

variable "bucket" {
  description = "Name of the repository's bucket."
  type        = string
}

variable "copies" {
  description = "Names and regions of the buckets that get copies, by the rule of replication."
  type        = map(object({ bucket = string, region = string }))
}

variable "watched" {
  description = "Names of buckets and ARNs of keys of whose changes somebody is told, by region."
  type        = map(object({ buckets = list(string), keys = list(string) }))
}
