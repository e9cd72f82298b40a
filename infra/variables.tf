variable "name" {
  description = "Name of the deployment: what functions, queues and alarms are called begins with it."
  type        = string
  default     = "copal"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}$", var.name))
    error_message = "Small letters, digits and hyphens, 2 to 31 of them, a letter first."
  }
}

variable "region" {
  description = "Region of everything but certificates and web ACLs of the page, which are global."
  type        = string
}

variable "bucket" {
  description = "Name of the repository's bucket, which is made. Names are unique in the world."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,53}[a-z0-9]$", var.bucket)) && !endswith(var.bucket, "--x-s3")
    error_message = "Small letters, digits and hyphens, 3 to 55 of them: other buckets' names begin with it. Directory buckets are of no use."
  }
}

variable "prefix" {
  description = "Folder of the bucket that holds the repository; the whole bucket if it is empty."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^[A-Za-z0-9/_-]*$", var.prefix))
    error_message = "Letters, digits, slashes, underscores and hyphens: names of folders that stand for themselves in policies."
  }
}

variable "owner_fingerprint" {
  description = "Whose repository it must be: `owner` of `copal status --json`. The functions trust nobody else. While it is zeros, no schedule or event starts a function."
  type        = string
  default     = "0000000000000000000000000000000000000000000000000000000000000000"

  validation {
    condition     = can(regex("^[0-9a-f]{64}$", var.owner_fingerprint))
    error_message = "64 hexadecimal digits."
  }
}

variable "release" {
  description = "Folder of an unpacked release: `functions-arm64.zip`, and the built page in `page/`."
  type        = string
  default     = "./release"
}

variable "tags" {
  description = "Tags of everything, besides `Copal`, which has the deployment's name."
  type        = map(string)
  default     = {}
}
