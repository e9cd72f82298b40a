variable "name" {
  description = "Name of the deployment, with which the queues' begin."
  type        = string
}

variable "account" {
  description = "Number of the account."
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

variable "root" {
  description = "What stands before the name of every object: empty, or a folder and a slash."
  type        = string
}

variable "folders" {
  description = "Folders whose new objects are events."
  type        = list(string)
  default     = ["manifests", "changes"]
}

variable "function_arn" {
  description = "ARN of the alias of ingest."
  type        = string
}

variable "function_timeout" {
  description = "Seconds that an ingest may take."
  type        = number
}

variable "batch" {
  description = "Messages that one ingest gets at most."
  type        = number
}

variable "window" {
  description = "Seconds for which messages are gathered."
  type        = number
}

variable "concurrency" {
  description = "Ingests that messages start at a time, at least 2."
  type        = number
}

variable "receives_most" {
  description = "Times that a message is delivered before it is a dead letter: once with others, and then singly."
  type        = number
}

variable "enabled" {
  description = "Whether messages start ingests; otherwise they wait."
  type        = bool
}
