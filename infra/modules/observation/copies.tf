# What S3 tells of copies in other buckets.

locals {
  of_copies = merge([
    for to, copy in var.copies : {
      "copies-failed-${to}" = merge(local.usual, {
        namespace  = "AWS/S3"
        metric     = "OperationsFailedReplication"
        dimensions = { SourceBucket = var.bucket, DestinationBucket = copy.bucket, RuleId = to }
        do         = "Objects could not be copied to ${copy.bucket}: its policy, its key or the role of replication refuses. Mend it, then copy what failed with S3 Batch Replication."
      })
      "copies-late-${to}" = merge(local.usual, {
        namespace = "AWS/S3"
        metric    = "ReplicationLatency"
        # S3 tells of delays where the copies lie, and of failures where the source lies.
        region     = copy.region
        dimensions = { SourceBucket = var.bucket, DestinationBucket = copy.bucket, RuleId = to }
        statistic  = "Maximum"
        # Large uploads may take hours.
        threshold = 12 * 3600
        do        = "Copies in ${copy.bucket} are half a day behind: S3 is slow, or cannot write there. Look at the failed copies and at AWS's health page."
      })
    }
  ]...)
}
