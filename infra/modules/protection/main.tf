# What stands between a change and the backups. A plan that gives up something on this list fails as a whole, before anything
# is touched: `terraform destroy`, another bucket or region, a lock or a copy that is no longer wanted. Besides, S3 refuses to
# delete a bucket that is not empty.

terraform {
  required_version = ">= 1.9"
}

resource "terraform_data" "held" {
  # One for each thing, so that more can be added.
  for_each = var.destroys ? {} : var.holds

  # Another thing in the place of this one is a destruction too.
  triggers_replace = each.value

  lifecycle {
    prevent_destroy = true
  }
}
