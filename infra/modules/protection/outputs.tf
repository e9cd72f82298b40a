output "holds" {
  description = "What may be neither given up nor replaced."
  value       = keys(terraform_data.held)
}
