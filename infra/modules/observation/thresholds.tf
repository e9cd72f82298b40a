variable "email" {
  description = "Address that is told of alarms; it has to confirm that."
  type        = string
  default     = null
}

variable "monthly_budget" {
  description = "Dollars a month that are expected; no budget without it."
  type        = number
  default     = null
}

variable "round_days" {
  description = "Days without a completed round after which that is an alarm, by round: check, scrub, compact, prune; at most 7."
  type        = map(number)
}

variable "scrubs" {
  description = "The jobs that read packs beside check, each its own."
  type        = list(string)
  default     = []
}

variable "deleted_bytes_most" {
  description = "Bytes that prune may delete within a day without an alarm."
  type        = number
}

variable "message_age_most" {
  description = "Seconds that an event may wait without an alarm."
  type        = number
}

variable "refused_most" {
  description = "Requests that the gateway may refuse within an hour without an alarm."
  type        = number
}

variable "hears_silence" {
  description = "Whether a job that does not run is told of. Before the repository is made none runs."
  type        = bool
}
