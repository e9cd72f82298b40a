locals {
  check = [
    {
      # GetObject, HeadObject: everything.
      Sid      = "Read"
      Effect   = "Allow"
      Action   = "s3:GetObject"
      Resource = [for folder in ["copal", "keys", "clients", "packs", "moved", "manifests", "receipts", "changes", "expiries", "deletions", "roots", "state", "index", "reader"] : "${local.objects}${folder}/*"]
    },
    {
      # PutObject: what is lost, and the report.
      Sid      = "Create"
      Effect   = "Allow"
      Action   = "s3:PutObject"
      Resource = [for folder in ["roots", "state", "reports"] : "${local.objects}${folder}/*"]
    },
  ]
}
