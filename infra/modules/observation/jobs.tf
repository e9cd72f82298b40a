# What the functions tell of themselves. Names and meanings are those of docs/operations.md.

locals {
  usual = { statistic = "Sum", period = 3600, periods = 1, below = false, threshold = 0, missing = "notBreaching" }
  day   = { period = 86400 }

  jobs = merge({
    rejected   = { function = "ingest", metric = "ManifestsRejected", do = "A client's manifest was rejected: the log of ingest and copal status say why. The next backup uploads what was missing; if it comes again, revoke the client." }
    waiting    = { function = "ingest", metric = "UndecidedAge", statistic = "Maximum", threshold = 3600, do = "Manifests wait for more than an hour: events are lost and reconciliation fails too, or one chain cannot be worked. The log of ingest names the client." }
    unbelieved = { function = "ingest", metric = "DecisionsRefused", do = "A change or an expiry is not believed: somebody writes what they may not. Or a manifest waits for a root that is missing. The log of ingest names the object." }
    damage     = merge(local.day, { function = "check", metric = "Damage", statistic = "Maximum", do = "The last check found damage that is needed: its log names the objects and the snapshots. Back the sources up again; bring back what was deleted from an earlier version." })
    stale      = merge(local.day, { function = "check", metric = "Stale", statistic = "Maximum", periods = 7, do = "For a week something is damaged that nothing needs now: the log of check names it." })
    unread     = merge(local.day, { function = "check", metric = "PacksLeft", statistic = "Maximum", periods = 7, do = "For a week checks have not come to the end of their share: run them more often, or give them more time." })
    lost       = merge(local.day, { function = "prune", metric = "LostChunks", statistic = "Maximum", do = "Kept snapshots refer to what has no copy: run a check, then back the sources up again." })
    held       = merge(local.day, { function = "prune", metric = "SnapshotsHeld", statistic = "Maximum", do = "A series has shrunk or changed by much, and nothing of it expires: look at the machine, then copal policy release or restore." })
    repeated   = merge(local.day, { function = "prune", metric = "UnprovenCopies", statistic = "Maximum", threshold = 1000, do = "Packs that nobody has proven repeat many chunks that are there: run copal check --full, which proves what is sound and names the packs that lie; revoke their client." })
    deleting   = merge(local.day, { function = "prune", metric = "BytesDeleted", threshold = var.deleted_bytes_most, do = "Prune deleted unusually much within a day: disable its schedule, look at copal policy show and who forgot what, copal undelete within the grace period; after it restore earlier versions." })
    pruning    = merge(local.day, { function = "prune", metric = "Failures", do = "A prune failed: the log line with failed says why. Contradicted, StateLost and Owner need a person, Store mostly passes, Expired means more time." })
    checking   = merge(local.day, { function = "check", metric = "Failures", periods = 2, do = "Checks fail two days in a row: the log line with failed says why." })
    compacting = merge(local.day, { function = "compact", metric = "Failures", periods = 2, do = "Compactions fail two days in a row: the log line with failed says why." })
    ingesting  = { function = "ingest", metric = "Failures", periods = 2, do = "Ingest fails two hours in a row: the log line with failed says why. StateLost and Owner need a person." }
    }, {
    # Silence is not health.
    for job, days in var.silent_days : "no-${job}" => merge(local.day, {
      function = job, metric = "Runs", periods = days, below = true, threshold = 1, missing = "breaching",
      do       = "No ${job} in ${days} days: it is not scheduled, or does not start. Look at the schedule and at the queue of failed runs."
    })
  })

  of_jobs = {
    for name, alarm in local.jobs : name => merge(local.usual, alarm, {
      namespace  = var.namespace
      dimensions = { Function = alarm.function, Repository = var.repository }
    })
  }
}
