# What the functions tell of themselves. Names and meanings are those of docs/aws.md.

locals {
  usual = { region = var.region, statistic = "Sum", period = 3600, periods = 1, below = false, threshold = 0, missing = "notBreaching" }
  day   = { period = 86400 }

  jobs = merge({
    rejected   = { function = "ingest", metric = "ManifestsRejected", do = "A client's manifest was rejected: the log of ingest and copal status say why. The next backup uploads what was missing; if it comes again, revoke the client." }
    waiting    = { function = "ingest", metric = "UndecidedAge", statistic = "Maximum", threshold = 3600, do = "Manifests wait for more than an hour: events are lost and reconciliation fails too, or one chain cannot be worked. The log of ingest names the client." }
    unbelieved = { function = "ingest", metric = "DecisionsRefused", do = "A change or an expiry is not believed: somebody writes what they may not. Or a manifest waits for a root that is missing. The log of ingest names the object." }
    stopped    = { function = "ingest", metric = "Stops", do = "An ingest panicked, which is a mistake of Copal: report the log line of ingest with Panicked, which names the client, if it was about one. Its manifests wait; the others are decided." }
    damage     = merge(local.day, { function = "check", metric = "Damage", statistic = "Maximum", do = local.of_check.damage })
    stale      = merge(local.day, { function = "check", metric = "Stale", statistic = "Maximum", periods = 7, do = "For a week something is damaged that nothing needs now: the log of check names it." })
    unread     = merge(local.day, { function = "prune", metric = "UnreadPages", statistic = "Maximum", do = "Pages cannot be read, and prune removes nothing in their domain: run a check, which names the packs, then back the sources up again." })
    lost       = merge(local.day, { function = "prune", metric = "LostChunks", statistic = "Maximum", do = "Kept snapshots refer to what has no copy: run a check, then back the sources up again." })
    held       = merge(local.day, { function = "prune", metric = "SnapshotsHeld", statistic = "Maximum", do = "A series has shrunk or changed by much, and nothing of it expires: look at the machine, then copal policy release or restore." })
    repeated   = merge(local.day, { function = "prune", metric = "UnprovenCopies", statistic = "Maximum", threshold = 1000, do = "Packs that nobody has proven repeat many chunks that are there: run copal check --full, which proves what is sound and names the packs that lie; revoke their client." })
    deleting   = merge(local.day, { function = "prune", metric = "BytesDeleted", threshold = var.deleted_bytes_most, do = "Prune deleted unusually much within a day: disable its schedule, look at copal policy show and who forgot what, copal undelete within the grace period; after it restore earlier versions." })
    pruning    = merge(local.day, { function = "prune", metric = "Failures", do = "A prune failed: the log line with failed says why. Contradicted, StateLost and Owner need a person, Store mostly passes, Expired means more time." })
    checking   = merge(local.day, { function = "check", metric = "Failures", periods = 2, do = local.of_check.checking })
    compacting = merge(local.day, { function = "compact", metric = "Failures", periods = 2, do = "Compactions fail two days in a row: the log line with failed says why." })
    ingesting  = { function = "ingest", metric = "Failures", periods = 2, do = "Ingest fails two hours in a row: the log line with failed says why. StateLost and Owner need a person." }
    }, {
    unbelieved-prune = merge(local.day, { function = "prune", metric = "DecisionsRefused", do = "Prune does not believe a change or an expiry: somebody writes what they may not. The log of prune names the object." })
    }, {
    # Silence is not health, and a run that fails or is cut off is not a round: a day counts if its least number is 0.
    for round, days in local.round_days : "no-${round}" => merge(local.day, {
      function = local.rounds[round].function, metric = local.rounds[round].metric, statistic = "Minimum", periods = days, missing = "breaching"
      do       = "The last completed ${round} is more than ${days} days old: ${local.rounds[round].because} Look at the schedule, the queue of failed runs and the function's log."
    })
    }, {
    for job in var.scrubs : "damage-${job}" => merge(local.day, { function = job, metric = "Damage", statistic = "Maximum", do = local.of_check.damage })
    }, {
    for job in var.scrubs : "checking-${job}" => merge(local.day, { function = job, metric = "Failures", periods = 2, do = local.of_check.checking })
    }, {
    no-ingest = merge(local.day, {
      function = "ingest", metric = "Runs", below = true, threshold = 1, missing = "breaching",
      do       = "No ingest in a day: it is not scheduled, or does not start. Look at the schedule and at the queue of failed runs."
    })
  })

  of_check = {
    damage   = "The last check found damage that is needed: its log names the objects and the snapshots. Back the sources up again; bring back what was deleted from an earlier version."
    checking = "Checks fail two days in a row: the log line with failed says why."
  }

  # Each lane of the packs is a round of its own.
  round_days = merge(var.round_days, { for job in var.scrubs : job => var.round_days.scrub if contains(keys(var.round_days), "scrub") })

  # What says of a run that it has left something, and why there may be no other run.
  rounds = merge({ for job in var.scrubs : job => { function = job, metric = "PacksLeft", because = "no ${job} has read its whole share of its packs. More time, more lanes (check_lanes), more shares (check-share), or a schedule that runs more often." } }, {
    check   = { function = "check", metric = "Unfinished", because = "checks are not scheduled, do not start, fail, or stop before they have looked at all that is due. More time, or a schedule that runs more often." }
    scrub   = { function = "check", metric = "PacksLeft", because = "no check has read its whole share of the packs. More time, more shares (check-share), or a schedule that runs more often." }
    compact = { function = "compact", metric = "Unfinished", because = "compact is not scheduled, does not start, fails, or stops before its end. More time, or a schedule that runs more often." }
    prune   = { function = "prune", metric = "Unfinished", because = "prune is not scheduled, does not start, fails, or stops before its end, and nothing is freed. More time, or a machine in the region that runs it." }
  })

  of_jobs = {
    for name, alarm in local.jobs : name => merge(local.usual, alarm, {
      namespace  = var.namespace
      dimensions = { Function = alarm.function, Repository = var.repository }
    })
  }
}
