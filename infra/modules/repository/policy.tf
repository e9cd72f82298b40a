# Who may create and delete what. These are refusals: what a role may do beyond them, its own policy says. An administrator
# can take this policy away, and that is seen in CloudTrail.

locals {
  all      = "arn:${var.partition}:s3:::${var.bucket}/*"
  objects  = "arn:${var.partition}:s3:::${var.bucket}/${var.root}"
  folders  = { for folder, writers in local.written_by : folder => "${local.objects}${folder}/*" }
  deciders = [for function in ["ingest", "compact", "prune", "check"] : var.roles[function]]

  # Folders that not everybody may create objects in, by who may.
  written_by = {
    keys      = "operators"
    moved     = "prune"
    roots     = "deciders"
    state     = "deciders"
    index     = "deciders"
    receipts  = "deciders"
    expiries  = "deciders"
    deletions = "pruners"
    reports   = "deciders"
    work      = "deciders"
    shares    = "sharers"
  }
  writers = {
    operators = var.operators
    prune     = [var.roles.prune]
    sharers   = [var.roles.gateway]
    # What is recorded there prune believes; operators leave the trace of a rebuild.
    pruners = concat([var.roles.prune], var.operators)
    # Operators rebuild the index and make the first root.
    deciders = concat(local.deciders, var.operators)
  }

  # What prune frees. Key slots and the probe of a new bucket (tmp/) are deleted by operators.
  pruned = [for folder in ["packs", "moved", "index", "state", "roots", "reports", "work"] : "${local.objects}${folder}/*"]
  # What the gateway deletes when a share is revoked, and prune when it is over.
  shared    = ["${local.objects}shares/*"]
  by_owners = [for folder in ["keys", "tmp"] : "${local.objects}${folder}/*"]

  statements = concat(local.creations, local.deletions)
}
