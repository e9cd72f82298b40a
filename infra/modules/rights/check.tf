locals {
  check = [
    {
      # GetObject, HeadObject: everything, and where to go on.
      Sid      = "Read"
      Effect   = "Allow"
      Action   = "s3:GetObject"
      Resource = [for folder in ["copal", "keys", "clients", "packs", "moved", "manifests", "receipts", "changes", "expiries", "deletions", "roots", "state", "index", "reader", "work"] : "${local.objects}${folder}/*"]
    },
    {
      # PutObject: what is lost, the report, and where the next run goes on.
      Sid      = "Create"
      Effect   = "Allow"
      Action   = "s3:PutObject"
      Resource = [for folder in ["roots", "state", "reports", "work"] : "${local.objects}${folder}/*"]
    },
  ]
}
