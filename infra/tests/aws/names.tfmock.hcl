# Names that tell one thing from another.

override_resource {
  target = module.repository.module.bucket.aws_s3_bucket.this
  values = { arn = "arn:aws:s3:::example-copal" }
}

override_resource {
  target = module.events.aws_sqs_queue.this
  values = { arn = "arn:aws:sqs:eu-central-1:111122223333:copal-events", url = "https://sqs.eu-central-1.amazonaws.com/111122223333/copal-events" }
}

override_resource {
  target = module.events.aws_sqs_queue.dead_letters
  values = { arn = "arn:aws:sqs:eu-central-1:111122223333:copal-dead-letters", url = "https://sqs.eu-central-1.amazonaws.com/111122223333/copal-dead-letters" }
}

override_resource {
  target = module.dead_letters.aws_sqs_queue.this
  values = { arn = "arn:aws:sqs:eu-central-1:111122223333:copal-failed-runs", url = "https://sqs.eu-central-1.amazonaws.com/111122223333/copal-failed-runs" }
}

override_resource {
  target = module.function["ingest"].aws_iam_role.this
  values = { arn = "arn:aws:iam::111122223333:role/copal-ingest" }
}

override_resource {
  target = module.function["ingest"].aws_lambda_function.this
  values = { version = "7", arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-ingest" }
}

override_resource {
  target = module.function["ingest"].aws_lambda_alias.this
  values = { arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-ingest:live", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:111122223333:function:copal-ingest:live/invocations" }
}

override_resource {
  target = module.function["compact"].aws_iam_role.this
  values = { arn = "arn:aws:iam::111122223333:role/copal-compact" }
}

override_resource {
  target = module.function["compact"].aws_lambda_function.this
  values = { version = "7", arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-compact" }
}

override_resource {
  target = module.function["compact"].aws_lambda_alias.this
  values = { arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-compact:live", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:111122223333:function:copal-compact:live/invocations" }
}

override_resource {
  target = module.function["prune"].aws_iam_role.this
  values = { arn = "arn:aws:iam::111122223333:role/copal-prune" }
}

override_resource {
  target = module.function["prune"].aws_lambda_function.this
  values = { version = "7", arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-prune" }
}

override_resource {
  target = module.function["prune"].aws_lambda_alias.this
  values = { arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-prune:live", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:111122223333:function:copal-prune:live/invocations" }
}

override_resource {
  target = module.function["check"].aws_iam_role.this
  values = { arn = "arn:aws:iam::111122223333:role/copal-check" }
}

override_resource {
  target = module.function["check"].aws_lambda_function.this
  values = { version = "7", arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-check" }
}

override_resource {
  target = module.function["check"].aws_lambda_alias.this
  values = { arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-check:live", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:111122223333:function:copal-check:live/invocations" }
}

override_resource {
  target = module.function["gateway"].aws_iam_role.this
  values = { arn = "arn:aws:iam::111122223333:role/copal-gateway" }
}

override_resource {
  target = module.function["gateway"].aws_lambda_function.this
  values = { version = "7", arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-gateway" }
}

override_resource {
  target = module.function["gateway"].aws_lambda_alias.this
  values = { arn = "arn:aws:lambda:eu-central-1:111122223333:function:copal-gateway:live", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:111122223333:function:copal-gateway:live/invocations" }
}

override_resource {
  target = module.logs.module.bucket.aws_s3_bucket.this
  values = { arn = "arn:aws:s3:::example-copal-logs" }
}

override_resource {
  target = module.page[0].module.bucket.aws_s3_bucket.this
  values = { arn = "arn:aws:s3:::example-copal-page" }
}

override_resource {
  target = module.replica["region"].module.bucket.aws_s3_bucket.this
  values = { arn = "arn:aws:s3:::example-copal-replica" }
}

override_resource {
  target = module.replica["region"].aws_kms_key.this
  values = { arn = "arn:aws:kms:eu-west-1:111122223333:key/0b0b0b0b-0000-4000-8000-000000000000" }
}

override_resource {
  target = module.events.aws_sqs_queue.singly
  values = { arn = "arn:aws:sqs:eu-central-1:111122223333:copal-events-singly", url = "https://sqs.eu-central-1.amazonaws.com/111122223333/copal-events-singly" }
}
