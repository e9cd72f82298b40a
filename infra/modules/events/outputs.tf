output "queue_arn" {
  description = "ARN of the queue that ingest reads."
  value       = aws_sqs_queue.this.arn
}

output "queue_name" {
  description = "Name of the queue that ingest reads."
  value       = aws_sqs_queue.this.name
}

output "dead_letters_name" {
  description = "Name of the queue of what could not be delivered."
  value       = aws_sqs_queue.dead_letters.name
}

output "dead_letters_url" {
  description = "Address of the queue of what could not be delivered."
  value       = aws_sqs_queue.dead_letters.url
}

output "mapping" {
  description = "Id of the event source mapping, by which deliveries are stopped and started."
  value       = aws_lambda_event_source_mapping.this.uuid
}

output "rights" {
  description = "What the role of ingest needs for the queue."
  value = [{
    # ReceiveMessage, DeleteMessage, GetQueueAttributes: Lambda polls the queue in the function's name.
    Sid      = "Events"
    Effect   = "Allow"
    Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
    Resource = aws_sqs_queue.this.arn
  }]
}
