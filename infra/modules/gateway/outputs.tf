output "id" {
  description = "Id of the API."
  value       = aws_apigatewayv2_api.this.id
}

output "url" {
  description = "Address of the gateway."
  value       = aws_apigatewayv2_api.this.api_endpoint
}
