variable "alarm_email" {
  description = "Address that is told of alarms; it has to confirm that. Without it alarms are in the topic and on the dashboard only."
  type        = string
  default     = null
}

variable "monthly_budget" {
  description = "Dollars a month that are expected: alarms at 80 %, and when more is forecast. Needs `Copal` as a cost allocation tag; no budget without it."
  type        = number
  default     = null
}

variable "alarms" {
  description = "Bytes that prune may delete in a day, seconds that an event may wait, requests that may be refused in an hour, and days that the last completed round of a job may be old, before that is an alarm."
  type = object({
    deleted_bytes_most = optional(number, 107374182400)
    message_age_most   = optional(number, 3600)
    refused_most       = optional(number, 1000)
    round_days = optional(object({
      check = optional(number, 3), scrub = optional(number, 7), compact = optional(number, 3), prune = optional(number, 3)
    }), {})
  })
  default = {}

  validation {
    # CloudWatch looks back a week.
    condition     = alltrue([for days in values(var.alarms.round_days) : days >= 1 && days <= 7])
    error_message = "Days since the last completed round: 1 to 7."
  }
}
