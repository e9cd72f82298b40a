# One function: the program, its version in use, its role, its log.

resource "aws_cloudwatch_log_group" "this" {
  name              = "/copal/${var.deployment}/${var.handler}"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn
}

resource "aws_lambda_function" "this" {
  function_name    = "${var.deployment}-${var.handler}"
  description      = var.description
  filename         = var.zip
  source_code_hash = filebase64sha256(var.zip)
  runtime          = "provided.al2023"
  architectures    = ["arm64"]
  # All functions are one program: which one it is says the handler.
  handler                        = var.handler
  role                           = aws_iam_role.this.arn
  memory_size                    = var.memory
  timeout                        = var.timeout
  reserved_concurrent_executions = var.concurrency
  kms_key_arn                    = var.kms_key_arn
  # Every change is a new version, and the alias says which one is used.
  publish = true

  environment {
    variables = var.environment
  }
  ephemeral_storage {
    size = var.storage
  }
  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.this.name
  }
  tracing_config {
    mode = "Active"
  }

  depends_on = [aws_iam_role_policy.this]
}

resource "aws_lambda_alias" "this" {
  name             = "live"
  description      = "The version that events, schedules and requests reach"
  function_name    = aws_lambda_function.this.function_name
  function_version = coalesce(var.pinned, aws_lambda_function.this.version)
}

# A scheduled run that failed is tried once more; then it is a message for a person.
resource "aws_lambda_function_event_invoke_config" "this" {
  function_name                = aws_lambda_function.this.function_name
  qualifier                    = aws_lambda_alias.this.name
  maximum_retry_attempts       = 1
  maximum_event_age_in_seconds = 3600

  destination_config {
    on_failure {
      destination = var.dead_letters_arn
    }
  }

  # Lambda tries whether the role may.
  depends_on = [aws_iam_role_policy.this]
}
