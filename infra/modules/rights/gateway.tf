locals {
  gateway = [
    {
      # GetObject, HeadObject: what it answers from, and what it presigns for clients that may read it.
      Sid      = "Read"
      Effect   = "Allow"
      Action   = "s3:GetObject"
      Resource = [for folder in ["copal", "keys", "clients", "packs", "moved", "manifests", "receipts", "changes", "expiries", "deletions", "roots", "state", "index", "reports", "reader", "shares"] : "${local.objects}${folder}/*"]
    },
    {
      # PutObject: what it creates or presigns for clients, and openings of shares; never what the service decides.
      Sid      = "Create"
      Effect   = "Allow"
      Action   = "s3:PutObject"
      Resource = [for folder in ["copal", "clients", "packs", "manifests", "changes", "reader", "shares"] : "${local.objects}${folder}/*"]
    },
    {
      # DeleteObject, DeleteObjects: a share that its maker revokes.
      Sid      = "Revoke"
      Effect   = "Allow"
      Action   = "s3:DeleteObject"
      Resource = ["${local.objects}shares/*"]
    },
  ]
}
