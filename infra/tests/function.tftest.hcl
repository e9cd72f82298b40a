mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  deployment         = "copal"
  handler            = "ingest"
  description        = "Decides"
  zip                = "./tests/release/functions-arm64.zip"
  statements         = "[]"
  environment        = { COPAL_BUCKET = "example-copal" }
  memory             = 512
  timeout            = 900
  concurrency        = 3
  log_retention_days = 30
  kms_key_arn        = "arn:aws:kms:eu-central-1:111122223333:key/1"
  dead_letters_arn   = "arn:aws:sqs:eu-central-1:111122223333:copal-failed-runs"
}

run "it_is_the_program_for_arm_sealed_traced_and_logged" {
  module {
    source = "./modules/function"
  }

  assert {
    condition     = aws_lambda_function.this.architectures == tolist(["arm64"]) && aws_lambda_function.this.runtime == "provided.al2023" && aws_lambda_function.this.handler == "ingest"
    error_message = "It is another program, or for another processor."
  }

  assert {
    condition     = aws_lambda_function.this.kms_key_arn == var.kms_key_arn && aws_cloudwatch_log_group.this.kms_key_id == var.kms_key_arn && aws_cloudwatch_log_group.this.retention_in_days == 30
    error_message = "Variables or log are not sealed, or the log stays for ever."
  }

  assert {
    condition     = one(aws_lambda_function.this.tracing_config).mode == "Active" && one(aws_lambda_function.this.logging_config).log_group == aws_cloudwatch_log_group.this.name
    error_message = "It is not traced, or logs elsewhere."
  }

  assert {
    condition     = one(one(aws_lambda_function_event_invoke_config.this.destination_config).on_failure).destination == var.dead_letters_arn
    error_message = "Nobody hears of runs that failed."
  }

  assert {
    condition     = [for of in jsondecode(aws_iam_role.this.assume_role_policy).Statement : of.Principal] == [{ Service = "lambda.amazonaws.com" }]
    error_message = "Somebody else takes its role."
  }

  assert {
    condition     = [for of in jsondecode(aws_iam_role_policy.this.policy).Statement : of.Sid if of.Resource == "*"] == ["Traces"]
    error_message = "Something else than traces is permitted on everything."
  }
}

run "the_alias_follows_the_newest_version" {
  command = apply

  module {
    source = "./modules/function"
  }

  assert {
    condition     = aws_lambda_function.this.publish && aws_lambda_alias.this.function_version == aws_lambda_function.this.version
    error_message = "An upgrade does not reach the alias."
  }
}

run "a_pinned_version_is_the_way_back" {
  module {
    source = "./modules/function"
  }

  variables {
    pinned = "41"
  }

  assert {
    condition     = aws_lambda_alias.this.function_version == "41"
    error_message = "There is no way back from an upgrade."
  }
}

run "operators_take_its_role_only_if_they_are_named" {
  module {
    source = "./modules/function"
  }

  variables {
    assumed_by = ["arn:aws:iam::111122223333:role/operator"]
  }

  assert {
    condition     = one([for of in jsondecode(aws_iam_role.this.assume_role_policy).Statement : [of.Principal, of.Condition] if of.Sid == "Operators"]) == [{ AWS = ["arn:aws:iam::111122223333:root"] }, { ArnEquals = { "aws:PrincipalArn" = ["arn:aws:iam::111122223333:role/operator"] } }]
    error_message = "They do not, or others do."
  }
}
