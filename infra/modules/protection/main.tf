# What stands between `terraform destroy` and the backups. Made after everything that holds them, it is destroyed before it:
# refusing to go, it keeps buckets, their settings and keys. Besides, S3 refuses to delete a bucket that is not empty.

terraform {
  required_version = ">= 1.9"
}

resource "terraform_data" "this" {
  # Another bucket in the place of this one is a destruction too.
  triggers_replace = [var.bucket]

  input = {
    destroys = var.destroys
    holds    = var.holds
  }

  provisioner "local-exec" {
    when    = destroy
    command = self.input.destroys ? "exit 0" : "echo 'the backups are protected: set destroy_backups and destroy_backups_in, apply, then destroy' >&2; exit 1"
  }
}
