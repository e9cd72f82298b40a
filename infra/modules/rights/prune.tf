locals {
  prune = [
    {
      # GetObject, HeadObject: policy, who signed it and every manifest since the last run, references in tree packs, blocks that are copied, whether a dooming root is still there, how long ago the state was rebuilt, where to go on, when shares end.
      Sid      = "Read"
      Effect   = "Allow"
      Action   = "s3:GetObject"
      Resource = [for folder in ["copal", "clients", "packs", "moved", "manifests", "receipts", "changes", "expiries", "deletions", "roots", "state", "index", "work", "shares"] : "${local.objects}${folder}/*"]
    },
    {
      # PutObject: copied blocks, what expired, what is about to be deleted, the state after it, the report, where the next run goes on.
      Sid      = "Create"
      Effect   = "Allow"
      Action   = "s3:PutObject"
      Resource = [for folder in ["moved", "expiries", "deletions", "roots", "state", "index", "reports", "work"] : "${local.objects}${folder}/*"]
    },
    {
      # DeleteObject, DeleteObjects: what a root has doomed, old roots and runs that only they name, old reports, what runs noted, shares that are over.
      Sid      = "Delete"
      Effect   = "Allow"
      Action   = "s3:DeleteObject"
      Resource = [for folder in ["packs", "moved", "roots", "state", "index", "reports", "work", "shares"] : "${local.objects}${folder}/*"]
    },
  ]
}
