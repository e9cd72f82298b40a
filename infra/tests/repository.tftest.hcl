mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  bucket        = "example-copal"
  root          = "team/"
  partition     = "aws"
  object_lock   = false
  locks_objects = false
  recovery_days = 30
  origins       = {}
  restorers     = []
  access_logs   = false
  log_bucket    = { id = "example-copal-logs", arn = "arn:aws:s3:::example-copal-logs" }
  inventory     = false
  force_destroy = false
  operators     = ["arn:aws:iam::111122223333:role/operator"]
  roles         = { for name in ["ingest", "compact", "prune", "check", "gateway"] : name => "arn:aws:iam::111122223333:role/copal-${name}" }
}

run "what_was_made_stays_and_what_was_deleted_comes_back" {
  module {
    source = "./modules/repository"
  }

  assert {
    condition = one([for of in local.statements : jsonencode(of) if of.Sid == "CreateOnly"]) == jsonencode({
      Sid       = "CreateOnly"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:PutObject"
      Resource  = ["arn:aws:s3:::example-copal/*"]
      Condition = {
        Null = { "s3:if-none-match" = "true" }
        Bool = { "s3:ObjectCreationOperation" = "true" }
      }
    })
    error_message = "Objects can be replaced."
  }

  assert {
    condition     = alltrue([for of in local.statements : of.Effect == "Deny" && of.Principal == "*"])
    error_message = "The policy allows something by itself."
  }

  assert {
    condition = one([for of in local.statements : of.NotResource if of.Sid == "Kept"]) == [
      for folder in ["packs", "moved", "index", "state", "roots", "reports", "work", "shares", "keys", "tmp"] : "arn:aws:s3:::example-copal/team/${folder}/*"
    ]
    error_message = "Something else can be deleted than what prune frees, shares, and key slots."
  }

  assert {
    condition     = one([for of in local.statements : of.Condition.ArnNotLike["aws:PrincipalArn"] if of.Sid == "DeletedByPrune"]) == [var.roles.prune]
    error_message = "Somebody else than prune deletes what prune frees."
  }

  assert {
    condition     = one([for of in local.statements : of.Condition.ArnNotLike["aws:PrincipalArn"] if of.Sid == "DeletedBySharers"]) == [var.roles.prune, var.roles.gateway]
    error_message = "Somebody else than the gateway and prune deletes shares."
  }

  assert {
    condition     = one([for of in local.statements : [of.Resource, of.Condition.ArnNotLike["aws:PrincipalArn"]] if of.Sid == "CreatedBySharers"]) == [["arn:aws:s3:::example-copal/team/shares/*"], [var.roles.gateway]]
    error_message = "Somebody else than the gateway creates shares."
  }

  assert {
    condition     = one([for of in local.statements : of.Condition.ArnNotLike["aws:PrincipalArn"] if of.Sid == "DeletedByOperators"]) == var.operators
    error_message = "Somebody else than operators deletes key slots."
  }

  assert {
    condition = one([for of in local.statements : of if of.Sid == "CreatedByPrune"]) == {
      Sid       = "CreatedByPrune"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:PutObject"
      Resource  = ["arn:aws:s3:::example-copal/team/moved/*"]
      Condition = { ArnNotLike = { "aws:PrincipalArn" = [var.roles.prune] } }
    }
    error_message = "A client can create what prune has moved."
  }

  assert {
    condition     = anytrue([for of in local.statements : of.Sid == "VersionsStay" && of.Action == "s3:DeleteObjectVersion" && !can(of.Condition)])
    error_message = "Somebody can delete earlier versions."
  }

  assert {
    condition     = !anytrue([for rule in aws_s3_bucket_lifecycle_configuration.this.rule : length(rule.transition) > 0])
    error_message = "Objects change their storage class although nobody said so."
  }

  assert {
    condition     = length([for rule in aws_s3_bucket_lifecycle_configuration.this.rule : rule if try(rule.noncurrent_version_expiration[0].noncurrent_days, 0) == 30]) == 1 && alltrue([for rule in aws_s3_bucket_lifecycle_configuration.this.rule : try(tonumber(rule.expiration[0].days), 0) == 0])
    error_message = "Earlier versions do not go in time, or current ones do."
  }

  assert {
    condition     = length(aws_s3_bucket_cors_configuration.this) + length(aws_s3_bucket_logging.this) + length(aws_s3_bucket_inventory.this) == 0
    error_message = "Something is on that nobody asked for."
  }
}

run "every_feature_is_on" {
  module {
    source = "./modules/repository"
  }

  variables {
    object_lock   = true
    locks_objects = true

    origins     = { page = "https://backup.example.org", distribution = "https://backup.example.org" }
    inventory   = true
    access_logs = true
    cold_packs  = { class = "GLACIER_IR", after_days = 30, larger_than = 16777216 }
  }

  assert {
    condition     = one(aws_s3_bucket_cors_configuration.this[0].cors_rule).allowed_origins == toset(["https://backup.example.org"]) && one(aws_s3_bucket_cors_configuration.this[0].cors_rule).allowed_methods == toset(["GET", "PUT"])
    error_message = "Pages of other origins may use presigned addresses, or the own one may do more."
  }

  assert {
    condition     = length(setintersection(one(aws_s3_bucket_cors_configuration.this[0].cors_rule).allowed_headers, ["x-amz-object-lock-mode", "x-amz-object-lock-retain-until-date"])) == 2
    error_message = "Pages cannot create what has to be locked."
  }

  assert {
    condition     = toset([for rule in aws_s3_bucket_lifecycle_configuration.this.rule : rule.filter[0].and[0].prefix if length(rule.transition) > 0]) == toset(["team/packs/"])
    error_message = "Something else than packs changes its storage class."
  }

  assert {
    condition     = alltrue([for rule in aws_s3_bucket_lifecycle_configuration.this.rule : rule.filter[0].and[0].object_size_greater_than == 16777216 if length(rule.transition) > 0])
    error_message = "Tree packs change their storage class."
  }

  assert {
    condition     = aws_s3_bucket_logging.this[0].target_bucket == "example-copal-logs" && length(aws_s3_bucket_inventory.this) == 1
    error_message = "Logs or lists are not written."
  }
}
