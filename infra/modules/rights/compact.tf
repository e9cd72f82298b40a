locals {
  compact = [
    {
      # GetObject, HeadObject: the segments, and whether a newer root is known of.
      Sid      = "Read"
      Effect   = "Allow"
      Action   = "s3:GetObject"
      Resource = [for folder in ["copal", "manifests", "receipts", "roots", "state", "index"] : "${local.objects}${folder}/*"]
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
