output "destroys" {
  description = "Whether the backups may be destroyed."
  value       = terraform_data.this.input.destroys
}
