locals {
  compact = [
    {
      # GetObject, HeadObject: whose the repository is, the newest root, the segments.
      Sid      = "Read"
      Effect   = "Allow"
      Action   = "s3:GetObject"
      Resource = [for folder in ["copal", "roots", "state", "index"] : "${local.objects}${folder}/*"]
    },
    {
      # PutObject: merged segments, and the root that names them.
      Sid      = "Create"
      Effect   = "Allow"
      Action   = "s3:PutObject"
      Resource = [for folder in ["roots", "state", "index"] : "${local.objects}${folder}/*"]
    },
  ]
}
