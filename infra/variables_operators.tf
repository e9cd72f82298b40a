variable "operators" {
  description = "ARNs of the roles and users that make and repair the repository: `init`, key slots, `rebuild-index`. `*` stands for anything. Without it whoever applies, so set it before somebody else does."
  type        = list(string)
  default     = null

  validation {
    condition     = var.operators == null ? true : length(var.operators) > 0 && alltrue([for arn in var.operators : can(regex("^arn:[^:]+:(iam|sts)::[0-9]{12}:.+", arn))])
    error_message = "At least one, each an ARN with the number of its account."
  }

  validation {
    condition     = var.operators == null ? true : !anytrue([for arn in var.operators : can(regex(":sts::", arn))])
    error_message = "A session of a role (arn:aws:sts::…:assumed-role/NAME/…) counts as its role: name arn:aws:iam::ACCOUNT:role/NAME, with the role's path."
  }
}

variable "restorers" {
  description = "ARNs of roles and users that may delete single versions for now: what brings deleted objects back is the deletion of their delete markers. Empty but while somebody does that; locked versions stay."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for arn in var.restorers : can(regex("^arn:[^:]+:iam::[0-9]{12}:(role|user)/[^*]+$", arn))])
    error_message = "Each one role or user, as arn:aws:iam::ACCOUNT:role/NAME: nobody else may delete versions meanwhile."
  }
}
