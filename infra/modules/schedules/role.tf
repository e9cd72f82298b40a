resource "aws_iam_role_policy" "this" {
  name = "calls"
  role = aws_iam_role.this.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        # InvokeFunction: starts a job, by the alias and not by any version.
        Sid      = "Start"
        Effect   = "Allow"
        Action   = "lambda:InvokeFunction"
        Resource = distinct([for job in values(var.jobs) : job.function_arn])
      },
      {
        # SendMessage: a job that could not be started.
        Sid      = "FailedRuns"
        Effect   = "Allow"
        Action   = "sqs:SendMessage"
        Resource = var.dead_letters_arn
      },
      {
        # Decrypt: what a schedule says is sealed.
        Sid      = "Sealed"
        Effect   = "Allow"
        Action   = "kms:Decrypt"
        Resource = var.kms_key_arn
      },
    ]
  })
}
