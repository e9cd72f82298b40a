variable "schedules" {
  description = "When jobs run, in EventBridge's expressions, in UTC."
  type = object({
    reconcile = optional(string, "rate(1 hour)")
    compact   = optional(string, "cron(17 2 * * ? *)")
    check     = optional(string, "cron(17 3 * * ? *)")
    prune     = optional(string, "cron(17 5 * * ? *)")
  })
  default = {}

  validation {
    condition     = alltrue([for at in values(var.schedules) : can(regex("^(rate|cron)\\(.+\\)$", at))])
    error_message = "rate(…) or cron(…)."
  }
}

variable "prune_enabled" {
  description = "Whether prune runs by itself. Set it once `copal policy set` has told what is kept."
  type        = bool
  default     = false

  validation {
    condition     = !var.prune_enabled || var.owner_fingerprint != join("", [for _ in range(64) : "0"])
    error_message = "Prune follows a policy, and there is none yet: make the repository, set owner_fingerprint, run copal policy set, then set prune_enabled."
  }
}

variable "paused" {
  description = "Whether everything that works on the repository by itself rests, events too, as for `copal rebuild-index`."
  type        = bool
  default     = false
}

variable "pruners" {
  description = "ARNs of roles and users that may take the role of prune, to run `copal prune` on a machine of their own."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for arn in var.pruners : can(regex("^arn:[^:]+:iam::[0-9]{12}:(role|user)/[^*]+$", arn))])
    error_message = "Each one role or user, as arn:aws:iam::ACCOUNT:role/NAME: a session of a role counts as its role."
  }
}

variable "storage_class" {
  description = "Storage class of packs that prune and clients of the gateway write; the bucket's without it."
  type        = string
  default     = ""

  validation {
    condition     = contains(["", "STANDARD", "STANDARD_IA", "INTELLIGENT_TIERING", "GLACIER_IR"], var.storage_class)
    error_message = "A class from which objects can be read at once."
  }
}

variable "log_level" {
  description = "What the functions log, as the filters of `tracing` are written."
  type        = string
  default     = "info"
}

variable "log_retention_days" {
  description = "Days for which logs are kept."
  type        = number
  default     = 365
}

variable "metrics_namespace" {
  description = "Namespace of the functions' metrics in CloudWatch."
  type        = string
  default     = "Copal"
}
