output "queue_arn" {
  description = "ARN of the queue that ingest reads."
  value       = aws_sqs_queue.this.arn
}

output "queue_names" {
  description = "Names of the queues that ingest reads, by the alarm that tells how old their messages are."
  value = {
    ingest-age = aws_sqs_queue.this.name
    singly-age = aws_sqs_queue.singly.name
  }
}

output "dead_letters_name" {
  description = "Name of the queue of what could not be delivered."
  value       = aws_sqs_queue.dead_letters.name
}

output "dead_letters_url" {
  description = "Address of the queue of what could not be delivered."
  value       = aws_sqs_queue.dead_letters.url
}

output "mappings" {
  description = "Ids of the event source mappings, by which deliveries are stopped and started."
  value       = [aws_lambda_event_source_mapping.this.uuid, aws_lambda_event_source_mapping.singly.uuid]
}

output "rights" {
  description = "What the role of ingest needs for the queues."
  value = [{
    # ReceiveMessage, DeleteMessage, GetQueueAttributes: Lambda polls the queues in the function's name.
    Sid      = "Events"
    Effect   = "Allow"
    Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
    Resource = [aws_sqs_queue.this.arn, aws_sqs_queue.singly.arn]
  }]
}

output "enabled" {
  description = "Whether messages start ingests."
  value       = aws_lambda_event_source_mapping.this.enabled && aws_lambda_event_source_mapping.singly.enabled
}
