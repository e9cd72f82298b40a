locals {
  ingest = [
    {
      # GetObject, HeadObject: whose the repository is, who signed, what packs say they hold, what was decided.
      Sid      = "Read"
      Effect   = "Allow"
      Action   = "s3:GetObject"
      Resource = [for folder in ["copal", "clients", "packs", "manifests", "receipts", "changes", "expiries", "roots", "state", "index"] : "${local.objects}${folder}/*"]
    },
    {
      # PutObject: what was decided.
      Sid      = "Create"
      Effect   = "Allow"
      Action   = "s3:PutObject"
      Resource = [for folder in ["receipts", "roots", "state", "index"] : "${local.objects}${folder}/*"]
    },
  ]
}
