resource "aws_iam_role" "this" {
  name        = "${var.deployment}-${var.handler}"
  description = "What the function ${var.handler} of Copal may do"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([{
      # AssumeRole by Lambda, for this function.
      Sid       = "Function"
      Effect    = "Allow"
      Principal = { Service = "lambda.amazonaws.com" }
      Action    = "sts:AssumeRole"
      }], length(var.assumed_by) == 0 ? [] : [{
      # AssumeRole by operators who run this job on a machine of their own.
      Sid    = "Operators"
      Effect = "Allow"
      # AWS refuses a policy whose principal is a role that is not there yet: it names accounts, and roles in the condition.
      Principal = { AWS = distinct([for arn in var.assumed_by : "${join(":", slice(split(":", arn), 0, 5))}:root"]) }
      Action    = "sts:AssumeRole"
      Condition = { ArnEquals = { "aws:PrincipalArn" = var.assumed_by } }
    }])
  })
}

resource "aws_iam_role_policy" "this" {
  name = "calls"
  role = aws_iam_role.this.id

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat(jsondecode(var.statements), local.host)
  })
}

locals {
  # What Lambda does in the function's name.
  host = [
    {
      # CreateLogStream and PutLogEvents: each environment of the function writes its log and its metrics.
      Sid      = "Log"
      Effect   = "Allow"
      Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = "${aws_cloudwatch_log_group.this.arn}:*"
    },
    {
      # PutTraceSegments and PutTelemetryRecords: traces belong to no resource, so none can be named.
      Sid      = "Traces"
      Effect   = "Allow"
      Action   = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
      Resource = "*"
    },
    {
      # SendMessage: a run that failed for good.
      Sid      = "FailedRuns"
      Effect   = "Allow"
      Action   = "sqs:SendMessage"
      Resource = var.dead_letters_arn
    },
  ]
}
