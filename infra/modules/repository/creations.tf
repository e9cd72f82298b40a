locals {
  creations = concat([
    {
      # PutObject, CompleteMultipartUpload and CopyObject by anybody: a name that is there is never written again. Parts of
      # an upload create nothing yet.
      Sid       = "CreateOnly"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:PutObject"
      Resource  = [local.all]
      Condition = {
        Null = { "s3:if-none-match" = "true" }
        Bool = { "s3:ObjectCreationOperation" = "true" }
      }
    },
    ], [
    for writers in keys(local.writers) : {
      # PutObject in the folders of key slots, of packs that prune moved, and of what the service decides.
      Sid       = "CreatedBy${title(writers)}"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:PutObject"
      Resource  = [for folder, by in local.written_by : local.folders[folder] if by == writers]
      Condition = { ArnNotLike = { "aws:PrincipalArn" = local.writers[writers] } }
    }
  ])
}
