variable "name" {
  description = "Name of the deployment, with which the queue's begins."
  type        = string
}
