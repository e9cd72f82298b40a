locals {
  locks = {
    prune = {
      # PutObject with a lock: copied blocks.
      Sid      = "Lock"
      Effect   = "Allow"
      Action   = "s3:PutObjectRetention"
      Resource = ["${local.objects}moved/*"]
    }
    gateway = {
      # PutObject with a lock, which it presigns for clients.
      Sid      = "Lock"
      Effect   = "Allow"
      Action   = "s3:PutObjectRetention"
      Resource = [for folder in ["packs", "manifests"] : "${local.objects}${folder}/*"]
    }
    check = {
      # GetObject, whose answer says when a lock ends, and PutObjectRetention, which has it end later.
      Sid      = "Lock"
      Effect   = "Allow"
      Action   = ["s3:GetObjectRetention", "s3:PutObjectRetention"]
      Resource = [for folder in ["packs", "moved", "manifests"] : "${local.objects}${folder}/*"]
    }
  }

  # Who locks what it writes or reads.
  locking = { for function, statement in local.locks : function => [for of in [statement] : of if var.locks_objects] }
}
