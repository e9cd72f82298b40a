output "init" {
  description = "What makes the repository, once, with an operator's credentials."
  value       = "copal init --repository s3://${local.repository} --ingest service"
}

output "region" {
  description = "Region of the bucket, which clients with credentials of AWS name in `AWS_REGION`."
  value       = var.region
}

output "operators" {
  description = "Who makes and repairs the repository: what `operators` is set to before somebody else applies."
  value       = local.operators
}

output "repository" {
  description = "The repository's address for those with credentials of AWS."
  value       = "s3://${local.repository}"
}

output "gateway_url" {
  description = "The repository's address for those without."
  value       = local.gateway_url
}

output "page_url" {
  description = "Address of the page; null without one."
  value       = local.page_url
}

output "roles" {
  description = "ARNs of the functions' roles, by function."
  value       = { for function, made in module.function : function => made.role_arn }
}

output "versions" {
  description = "Version of each function that is in use: what `pinned` goes back to."
  value       = { for function, made in module.function : function => made.version }
}

output "logs" {
  description = "Log group of each function."
  value       = { for function, made in module.function : function => made.log_group }
}

output "events" {
  description = "Event source mappings of ingest, and the addresses of the queues that must be empty."
  value = {
    mappings     = module.events.mappings
    dead_letters = module.events.dead_letters_url
    failed_runs  = module.dead_letters.url
  }
}

output "schedules" {
  description = "Group of the schedules."
  value       = module.schedules.group
}

output "alarms" {
  description = "Topic that alarms are told to."
  value       = module.observation.topic_arn
}

output "dashboard" {
  description = "Name of the dashboard."
  value       = module.observation.dashboard
}

output "replication_role" {
  description = "Role that replicates, for the recovery bucket of another account; null without replication."
  value       = one(module.replication[*].role_arn)
}
