# The same of the keys, by themselves: whoever aims at one alone goes past the list.

mock_provider "aws" {
  source = "./tests/aws"
}

run "key" {
  command = apply

  module {
    source = "./modules/key"
  }

  variables {
    name      = "copal"
    partition = "aws"
    account   = "111122223333"
    region    = "eu-central-1"
  }
}

run "replica" {
  command = apply

  module {
    source = "./modules/replica"
  }

  variables {
    bucket        = "example-copal-replica"
    partition     = "aws"
    account       = "111122223333"
    recovery_days = 30
  }
}
