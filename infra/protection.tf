# What stands between `terraform destroy` and the backups. It comes after everything that holds them and is destroyed before
# it: refusing to go, it keeps buckets, their settings and keys. Besides, S3 refuses to delete a bucket that is not empty.

resource "terraform_data" "protection" {
  # Another bucket in the place of this one is a destruction too.
  triggers_replace = [var.bucket]

  input = {
    destroys = local.destroys
    holds    = concat([module.key.arn], module.repository.settings, flatten([for made in module.replica : made.settings]))
  }

  provisioner "local-exec" {
    when    = destroy
    command = self.input.destroys ? "exit 0" : "echo 'the backups are protected: set destroy_backups and destroy_backups_in, apply, then destroy' >&2; exit 1"
  }

  depends_on = [module.key, module.repository, module.replica]
}
