output "statements" {
  description = "Statements of each function's role, as JSON lists."
  value       = { for function, statements in local.statements : function => jsonencode(statements) }
}
