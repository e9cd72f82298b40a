locals {
  # Before somebody has said whose the repository is, every run would fail.
  runs_jobs = local.is_owned && !var.paused

  # Check is the first lane.
  scrubs = [for lane in range(1, var.check_lanes) : "scrub-${lane}"]

  # Prune is off until somebody has set retention: without a policy nothing expires, but what was forgotten would go.
  jobs = merge({ for job in local.scrubs : job => { function = "check", expression = var.schedules.check, enabled = true, lanes = var.check_lanes } }, {
    reconcile = { function = "ingest", expression = var.schedules.reconcile, enabled = true }
    compact   = { function = "compact", expression = var.schedules.compact, enabled = true }
    check     = { function = "check", expression = var.schedules.check, enabled = true, lanes = var.check_lanes }
    prune     = { function = "prune", expression = var.schedules.prune, enabled = var.prune_enabled }
  })
}

module "schedules" {
  source = "./modules/schedules"

  name             = var.name
  account          = local.account
  dead_letters_arn = module.dead_letters.arn
  kms_key_arn      = module.key.arn

  jobs = {
    for job, at in local.jobs : job => {
      expression   = at.expression
      enabled      = at.enabled && local.runs_jobs
      function_arn = module.function[at.function].alias_arn
      lanes        = lookup(at, "lanes", 1)
    }
  }
}
