variable "events" {
  description = "Messages that one ingest gets, for how many seconds they are gathered, how many ingests run at once, and how often a message is delivered: once with others, and then singly."
  type = object({
    batch         = optional(number, 100)
    window        = optional(number, 5)
    concurrency   = optional(number, 2)
    receives_most = optional(number, 5)
  })
  default = {}

  validation {
    condition     = var.events.concurrency >= 2 && var.events.concurrency + 2 < var.functions.ingest.concurrency
    error_message = "At least 2, and three fewer than are reserved for ingest: two are for messages that come again, one for reconciliation."
  }

  validation {
    condition     = var.events.window > 0 || var.events.batch <= 10
    error_message = "More than 10 messages at once have to be gathered for at least a second."
  }

  validation {
    condition     = var.events.receives_most >= 2
    error_message = "A message that has failed once is delivered singly at least once."
  }
}
