variable "roles" {
  description = "ARNs of the functions' roles, by function."
  type        = map(string)
}

variable "operators" {
  description = "ARNs of whoever makes and repairs the repository with credentials of AWS; * stands for anything."
  type        = list(string)
}

variable "restorers" {
  description = "ARNs of roles and users that may delete single versions for now."
  type        = list(string)
}
