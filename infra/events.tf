module "events" {
  source = "./modules/events"

  name             = var.name
  account          = local.account
  bucket           = module.repository.id
  bucket_arn       = module.repository.arn
  root             = local.root
  function_arn     = module.function["ingest"].alias_arn
  function_timeout = var.functions.ingest.timeout
  batch            = var.events.batch
  window           = var.events.window
  concurrency      = var.events.concurrency
  receives_most    = var.events.receives_most
  enabled          = local.runs_jobs
}
