variable "destroys" {
  description = "Whether the backups may be destroyed."
  type        = bool
}

variable "holds" {
  description = "What may be neither given up nor replaced, by what it is."
  type        = map(string)
}
