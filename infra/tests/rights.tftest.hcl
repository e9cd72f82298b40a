mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  bucket_arn    = "arn:aws:s3:::example-copal"
  root          = "team/"
  kms_key_arn   = "arn:aws:kms:eu-central-1:111122223333:key/1"
  seals_objects = true
  locks_objects = true
}

run "prune_alone_deletes_backups_and_nobody_may_do_everything" {
  module {
    source = "./modules/rights"
  }

  assert {
    condition     = [for function, statements in local.statements : function if anytrue([for of in statements : anytrue([for action in flatten([of.Action]) : startswith(action, "s3:Delete")])])] == ["gateway", "prune"]
    error_message = "Somebody else than prune and the gateway may delete."
  }

  assert {
    condition     = [for of in local.statements.gateway : of.Resource if of.Action == "s3:DeleteObject"] == [["arn:aws:s3:::example-copal/team/shares/*"]]
    error_message = "The gateway may delete something else than shares."
  }

  assert {
    condition     = alltrue(flatten([for statements in values(local.statements) : [for of in statements : [for action in flatten([of.Action]) : contains(["s3:ListBucket", "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:GetObjectRetention", "s3:PutObjectRetention", "kms:Decrypt", "kms:GenerateDataKey"], action)]]]))
    error_message = "A function may do something that none does."
  }

  assert {
    condition     = alltrue(flatten([for statements in values(local.statements) : [for of in statements : [for resource in flatten([of.Resource]) : resource == var.bucket_arn || resource == var.kms_key_arn || can(regex("^arn:aws:s3:::example-copal/team/([a-z]+/\\*|clients/\\*\\.b)$", resource))]]]))
    error_message = "A right is for more than one folder of the repository."
  }

  assert {
    condition     = !anytrue(flatten([for function in ["ingest", "compact", "check", "gateway"] : [for of in local.statements[function] : [for resource in flatten([of.Resource]) : endswith(resource, "/moved/*") if of.Action == "s3:PutObject"]]]))
    error_message = "Somebody else than prune may create moved packs."
  }

  assert {
    condition     = alltrue([for statements in values(local.statements) : anytrue([for of in statements : of.Action == "kms:GenerateDataKey"])])
    error_message = "Somebody cannot seal what they create."
  }
}

run "locks_are_for_packs_and_manifests" {
  module {
    source = "./modules/rights"
  }

  assert {
    condition = { for function, statements in local.statements : function => one([for of in statements : of.Resource if of.Sid == "Lock"]) if anytrue([for of in statements : of.Sid == "Lock"]) } == {
      prune   = ["arn:aws:s3:::example-copal/team/moved/*"]
      gateway = [for folder in ["packs", "manifests"] : "arn:aws:s3:::example-copal/team/${folder}/*"]
      check   = [for folder in ["packs", "moved", "manifests"] : "arn:aws:s3:::example-copal/team/${folder}/*"]
    }
    error_message = "Somebody locks what they neither write nor check, or does not lock what they do."
  }
}

run "who_locks_nothing_has_no_right_to" {
  module {
    source = "./modules/rights"
  }

  variables {
    locks_objects = false
  }

  assert {
    condition     = !strcontains(jsonencode(local.statements), "ObjectRetention")
    error_message = "A function may lock for nothing."
  }
}

run "who_does_not_seal_with_the_key_may_not_ask_it_for_more" {
  module {
    source = "./modules/rights"
  }

  variables {
    seals_objects = false
  }

  assert {
    condition     = !anytrue(flatten([for statements in values(local.statements) : [for of in statements : of.Action == "kms:GenerateDataKey"]]))
    error_message = "A function may use the key for nothing."
  }
}
