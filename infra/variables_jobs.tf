variable "functions" {
  description = "Memory (MB), timeout (seconds) and reserved concurrency of each function. 1769 MB give a whole processor."
  type = object({
    ingest  = optional(object({ memory = number, timeout = number, concurrency = number }), { memory = 512, timeout = 900, concurrency = 5 })
    compact = optional(object({ memory = number, timeout = number, concurrency = number }), { memory = 512, timeout = 900, concurrency = 1 })
    prune   = optional(object({ memory = number, timeout = number, concurrency = number }), { memory = 1769, timeout = 900, concurrency = 1 })
    check   = optional(object({ memory = number, timeout = number, concurrency = number }), { memory = 1769, timeout = 900, concurrency = 1 })
    gateway = optional(object({ memory = number, timeout = number, concurrency = number }), { memory = 512, timeout = 30, concurrency = 20 })
  })
  default = {}

  validation {
    condition     = alltrue([for made in values(var.functions) : made.timeout <= 900 && made.timeout >= 10 && made.memory >= 128 && made.memory <= 10240])
    error_message = "Timeouts of 10 to 900 seconds, memory of 128 to 10240 MB."
  }

  validation {
    condition     = var.functions.gateway.timeout <= 30
    error_message = "The gateway answers within 30 seconds: longer no API waits."
  }
}

variable "copies_mb" {
  description = "Temporary storage of prune and check (MB), for copies of the index and what they make of it: 80 bytes for each chunk of the largest domain. What does not fit is held in memory."
  type        = number
  default     = 4096

  validation {
    condition     = var.copies_mb >= 512 && var.copies_mb <= 10240
    error_message = "512 to 10240 MB."
  }
}

variable "reserve_concurrency" {
  description = "Whether the functions' concurrency is reserved. An account whose limit is 10 cannot; then two prunes may run at once, which costs time and harms nothing."
  type        = bool
  default     = true
}

variable "pinned" {
  description = "Versions of functions that are used instead of the newest, by function: the way back from an upgrade."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for function, version in var.pinned : contains(["ingest", "compact", "prune", "check", "gateway"], function) && can(regex("^[0-9]+$", version))])
    error_message = "Each a function (ingest, compact, prune, check, gateway) and the number of its version."
  }
}

variable "check_parts" {
  description = "Of how many parts of all packs a check reads one, where no policy says so."
  type        = number
  default     = 30
}

variable "check_lanes" {
  description = "How many runs of the check read at the same time, each its own packs: one reads about 62 GB in 15 minutes."
  type        = number
  default     = 1

  validation {
    condition     = var.check_lanes >= 1 && var.check_lanes <= 32 && floor(var.check_lanes) == var.check_lanes
    error_message = "A whole number from 1 to 32."
  }
}

variable "repack_most" {
  description = "Bytes that one prune copies at most; no bound without it."
  type        = number
  default     = null
}
