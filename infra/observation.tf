module "observation" {
  source = "./modules/observation"

  name        = var.name
  account     = local.account
  region      = var.region
  kms_key_arn = module.key.arn
  namespace   = var.metrics_namespace
  repository  = local.repository
  functions   = { for function, made in module.function : function => made.name }
  timeouts    = { for function, settings in var.functions : function => settings.timeout }
  queues      = module.events.queue_names
  api         = module.gateway.id
  partition   = local.partition
  bucket      = var.bucket

  copies = { for name, to in local.destinations : name => { bucket = split(":::", to.bucket_arn)[1], region = to.region } }
  watched = merge(
    { (var.region) = { buckets = [var.bucket], keys = [module.key.arn] } },
    { for made in module.replica : var.replica_region => { buckets = ["${var.bucket}-replica"], keys = [made.kms_key_arn] } },
  )
  # Until somebody has made the repository and said whose it is, nothing starts a job (schedules.tf).
  hears_silence = local.is_owned

  dead_letters = {
    dead-letters = module.events.dead_letters_name
    failed-runs  = module.dead_letters.name
  }

  email              = var.alarm_email
  monthly_budget     = var.monthly_budget
  deleted_bytes_most = var.alarms.deleted_bytes_most
  message_age_most   = var.alarms.message_age_most
  refused_most       = var.alarms.refused_most

  scrubs = local.scrubs

  # A job that is meant to rest is not missed.
  round_days = { for round, days in var.alarms.round_days : round => days if round != "prune" || var.prune_enabled }
}
