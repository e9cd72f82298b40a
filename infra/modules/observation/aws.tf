# What AWS tells of the queues, the functions and the gateway.

locals {
  of_queues = merge({
    for what, queue in var.dead_letters : what => merge(local.usual, {
      namespace  = "AWS/SQS"
      metric     = "ApproximateNumberOfMessagesVisible"
      dimensions = { QueueName = queue }
      statistic  = "Maximum"
      period     = 300
      do         = "Messages lie in ${queue}: read one, mend the cause that the function's log names, run reconcile, then purge the queue."
    })
    }, {
    for what, queue in var.queues : what => merge(local.usual, {
      namespace  = "AWS/SQS"
      metric     = "ApproximateAgeOfOldestMessage"
      dimensions = { QueueName = queue }
      statistic  = "Maximum"
      period     = 300
      threshold  = var.message_age_most
      do         = "An event has waited for long in ${queue}: ingest does not keep up, fails, or the mapping is disabled."
    })
  })

  of_functions = merge([
    for function, name in var.functions : {
      "${function}-throttled" = merge(local.usual, {
        namespace  = "AWS/Lambda"
        metric     = "Throttles"
        dimensions = { FunctionName = name }
        period     = 300
        periods    = 3
        do         = "${name} is refused for want of concurrency: raise its own, or the account's."
      })
      "${function}-late" = merge(local.usual, {
        namespace  = "AWS/Lambda"
        metric     = "Duration"
        dimensions = { FunctionName = name }
        statistic  = "Maximum"
        # Jobs that end themselves do so two minutes before; nothing should come nearer than a minute.
        threshold = 1000 * (var.timeouts[function] - min(60, var.timeouts[function] / 10))
        do        = "${name} takes nearly all of its time: more memory, a smaller share, or a machine of your own."
      })
    }
  ]...)

  of_gateway = {
    gateway-failing = merge(local.usual, {
      namespace  = "AWS/ApiGateway"
      metric     = "5xx"
      dimensions = { ApiId = var.api }
      period     = 300
      periods    = 3
      do         = "The gateway fails: its log and the log of requests have method, path and reason."
    })
    gateway-refusing = merge(local.usual, {
      namespace  = var.namespace
      metric     = "Refused"
      dimensions = { Function = "gateway", Repository = var.repository }
      threshold  = var.refused_most
      do         = "Far more requests are refused than usual: somebody asks for what they may not. The log of requests has their addresses."
    })
  }
}
