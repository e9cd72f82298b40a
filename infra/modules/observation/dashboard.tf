locals {
  checks = concat(["check"], var.scrubs)

  # One picture for each question: does it run, does it keep up, is anything lost, what does it free.
  pictures = [
    { title = "Runs", statistic = "Sum", metrics = [for function in keys(var.functions) : [function, "Runs"]] },
    { title = "Failures", statistic = "Sum", metrics = [for function in keys(var.functions) : [function, "Failures"]] },
    { title = "Manifests", statistic = "Sum", metrics = [["ingest", "ManifestsAccepted"], ["ingest", "ManifestsRejected"]] },
    { title = "Oldest undecided manifest, s", statistic = "Maximum", metrics = [["ingest", "UndecidedAge"]] },
    { title = "Damage", statistic = "Maximum", metrics = concat([for job in local.checks : [job, "Damage"]], [["check", "Stale"], ["prune", "LostChunks"]]) },
    { title = "Read by checks", statistic = "Sum", metrics = [for job in local.checks : [job, "BytesRead"]] },
    { title = "Freed and waiting", statistic = "Maximum", metrics = [["prune", "BytesDeleted"], ["prune", "BytesPending"], ["prune", "BytesDead"]] },
    { title = "Held and expired", statistic = "Maximum", metrics = [["prune", "SnapshotsHeld"], ["prune", "SnapshotsExpired"]] },
    { title = "Requests and refusals", statistic = "Sum", metrics = [["gateway", "Runs"], ["gateway", "Refused"]] },
    { title = "Index", statistic = "Maximum", metrics = [["compact", "Segments"]] },
  ]
}

resource "aws_cloudwatch_dashboard" "this" {
  dashboard_name = var.name

  dashboard_body = jsonencode({
    widgets = concat([
      for at, picture in local.pictures : {
        type   = "metric"
        x      = 12 * (at % 2)
        y      = 6 * floor(at / 2)
        width  = 12
        height = 6
        properties = {
          title   = picture.title
          region  = var.region
          stat    = picture.statistic
          period  = 3600
          metrics = [for of in picture.metrics : [var.namespace, of[1], "Function", of[0], "Repository", var.repository]]
        }
      }
      ], [{
        type       = "alarm"
        x          = 0
        y          = 30
        width      = 24
        height     = 4
        properties = { title = "Alarms", alarms = [for alarm in values(aws_cloudwatch_metric_alarm.this) : alarm.arn if alarm.region == var.region] }
    }])
  })
}
