resource "aws_iam_role_policy" "changes" {
  count = length(local.others) == 0 ? 0 : 1
  name  = "calls"
  role  = aws_iam_role.changes[0].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      # PutEvents: what another region tells.
      Sid      = "Tell"
      Effect   = "Allow"
      Action   = "events:PutEvents"
      Resource = local.bus
    }]
  })
}
