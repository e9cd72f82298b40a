output "enabled" {
  description = "Jobs that their schedules start."
  value       = [for job, made in aws_scheduler_schedule.this : job if made.state == "ENABLED"]
}

output "group" {
  description = "Name of the group of all schedules."
  value       = aws_scheduler_schedule_group.this.name
}
