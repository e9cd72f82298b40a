variable "bucket" {
  description = "Name of the repository's bucket."
  type        = string
}

variable "destroys" {
  description = "Whether the backups may be destroyed."
  type        = bool
}

variable "holds" {
  description = "What holds them, and is destroyed only after this."
  type        = list(string)
}
