locals {
  source = [
    {
      # GetBucketReplication and ListObjectVersions: what is to be copied.
      Sid      = "Source"
      Effect   = "Allow"
      Action   = ["s3:GetReplicationConfiguration", "s3:ListBucket"]
      Resource = var.bucket_arn
    },
    {
      # GetObject of each version, as it is sealed.
      Sid      = "Versions"
      Effect   = "Allow"
      Action   = ["s3:GetObjectVersionForReplication", "s3:GetObjectVersionAcl", "s3:GetObjectVersionTagging", "s3:GetObjectRetention", "s3:GetObjectLegalHold"]
      Resource = "${var.bucket_arn}/*"
    },
    {
      # Decrypt: the key that it is sealed with here, or was while `encryption` said so.
      Sid      = "Opened"
      Effect   = "Allow"
      Action   = "kms:Decrypt"
      Resource = var.kms_key_arn
    },
  ]

  destination = [
    {
      # PutObject of copies, and of delete markers, which hide and delete nothing.
      Sid      = "Copies"
      Effect   = "Allow"
      Action   = ["s3:ReplicateObject", "s3:ReplicateDelete"]
      Resource = [for to in values(var.destinations) : "${to.bucket_arn}/*"]
    },
    {
      # GenerateDataKey and Encrypt: the key that copies are sealed with there.
      Sid      = "Sealed"
      Effect   = "Allow"
      Action   = ["kms:GenerateDataKey", "kms:Encrypt"]
      Resource = [for to in values(var.destinations) : to.kms_key_arn]
    },
  ]
}
