# What env/prod.tfvars.example deploys: terraform test -test-directory=env -filter=env/prod.tftest.hcl -var-file=env/prod.tfvars.example

mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  release = "./tests/release"
  # As they are once the repository is made and has a policy.
  owner_fingerprint = "ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45"
  prune_enabled     = true
}

run "deployed" {
  command = apply

  assert {
    condition     = !local.destroys && var.object_lock && var.locked_days == 90 && local.bucket_key != null
    error_message = "Backups are less protected than they can be."
  }

  assert {
    condition     = toset(keys(local.destinations)) == toset(["region", "recovery"]) && var.access_logs
    error_message = "There are no copies, or nobody sees who asked for what."
  }

  assert {
    condition     = output.page_url == "https://backup.example.org" && output.gateway_url == output.page_url
    error_message = "Page and gateway are not at their name."
  }
}

# Somebody brings back what was deleted.
run "restoring" {
  command = apply

  variables {
    restorers = ["arn:aws:iam::111122223333:role/restorer"]
  }

  assert {
    condition     = var.restorers != []
    error_message = "Nobody can bring anything back."
  }
}
