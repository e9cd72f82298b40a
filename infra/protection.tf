module "protection" {
  source = "./modules/protection"

  bucket   = var.bucket
  destroys = local.destroys
  holds    = concat([module.key.arn], module.repository.settings, flatten([for made in module.replica : made.settings]))

  depends_on = [module.key, module.repository, module.replica]
}
