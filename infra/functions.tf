# The five functions: one program, five roles.

locals {
  about = {
    ingest  = "Decides about what clients have uploaded"
    compact = "Merges segments of the index"
    prune   = "Frees what no kept snapshot needs: the only one that deletes what backups are made of"
    check   = "Looks for damage"
    gateway = "Answers clients without credentials of AWS"
  }

  # docs/aws.md says what each is.
  environment = {
    COPAL_BUCKET            = var.bucket
    COPAL_PREFIX            = local.folder
    COPAL_OWNER_FINGERPRINT = var.owner_fingerprint
    COPAL_METRICS_NAMESPACE = var.metrics_namespace
    COPAL_LOG               = var.log_level
    COPAL_STORAGE_CLASS     = var.storage_class
    COPAL_OBJECT_LOCK       = var.locked_days == null ? "" : "${var.lock_mode}:${var.locked_days}"
  }
  environment_of = {
    check = { COPAL_CHECK_PARTS = tostring(var.check_parts) }
    prune = { COPAL_REPACK_MOST = var.repack_most == null ? "" : tostring(var.repack_most) }
    gateway = {
      COPAL_ORIGIN      = join(",", local.gateway_urls)
      COPAL_CORS        = var.cors
      COPAL_QUOTA       = var.quota == null ? "" : tostring(var.quota)
      COPAL_DAILY_QUOTA = var.daily_quota == null ? "" : tostring(var.daily_quota)
      COPAL_OPEN_SLOTS  = tostring(var.open_slots)
      COPAL_VIA         = local.is_closed ? local.via : ""
    }
  }
}

module "rights" {
  source = "./modules/rights"

  bucket_arn    = "arn:${local.partition}:s3:::${var.bucket}"
  root          = local.root
  kms_key_arn   = module.key.arn
  seals_objects = local.bucket_key != null
  locks_objects = var.locked_days != null
}

module "function" {
  source   = "./modules/function"
  for_each = local.about

  deployment  = var.name
  handler     = each.key
  description = each.value
  zip         = "${var.release}/functions-arm64.zip"
  pinned      = lookup(var.pinned, each.key, null)
  statements  = jsonencode(concat(jsondecode(module.rights.statements[each.key]), each.key == "ingest" ? module.events.rights : []))
  assumed_by  = each.key == "prune" ? var.pruners : []

  # One that is empty counts as not set.
  environment = {
    for name, value in merge(local.environment, lookup(local.environment_of, each.key, {})) : name => value if value != null && value != ""
  }

  memory             = var.functions[each.key].memory
  timeout            = var.functions[each.key].timeout
  storage            = contains(["prune", "check"], each.key) ? var.copies_mb : 512
  concurrency        = var.reserve_concurrency ? local.concurrency[each.key] : -1
  log_retention_days = var.log_retention_days
  kms_key_arn        = module.key.arn
  dead_letters_arn   = module.dead_letters.arn
}

module "dead_letters" {
  source = "./modules/dead_letters"

  name = var.name
}
