output "group" {
  description = "Name of the group of all schedules."
  value       = aws_scheduler_schedule_group.this.name
}
