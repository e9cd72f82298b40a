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
      # PutObject: what was decided, and the second copies of client records.
      Sid      = "Create"
      Effect   = "Allow"
      Action   = "s3:PutObject"
      Resource = [for name in ["receipts/*", "roots/*", "state/*", "index/*", "clients/*.b"] : "${local.objects}${name}"]
    },
  ]
}
