#!/usr/bin/env bash
# Deploys Copal into an AWS account, with a new repository: deploy.sh REGION BUCKET. Needs Terraform, copal and an
# administrator's credentials. Run again, it continues where it stopped, and then changes nothing.
set -euo pipefail
cd "$(dirname "$0")"

if [[ ! -e copal.auto.tfvars ]]; then
    if (($# != 2)); then
        echo "usage: $0 REGION BUCKET, such as: $0 eu-central-1 example-copal" >&2
        exit 2
    fi
    cat >copal.auto.tfvars <<SETTINGS
region = "$1"
bucket = "$2"
# A page needs it: anybody may read the key slots, and can try to guess the passphrase.
open_slots = true
# Only a new bucket can be given it. Nothing is locked until locked_days is set.
object_lock = true
# A new account has no concurrency to reserve.
reserve_concurrency = false
SETTINGS
fi

terraform init -input=false
if [[ ! -e owner.auto.tfvars.json ]]; then
    # The functions believe nobody yet: there is no repository.
    terraform apply
    repository=$(terraform output -raw repository)
    # Whatever region the environment names: the bucket lies in this one.
    region=$(terraform output -raw region)
    copal() { AWS_REGION=$region command copal "$@"; }
    status=0
    copal -r "$repository" status --json >status.json 2>/dev/null || status=$?
    # 10: there is no repository.
    if ((status == 10)); then
        copal init --repository "$repository" --ingest service
    fi
    copal -r "$repository" status --json >status.json
    owner=$(grep -o '"owner": *"[0-9a-f]*"' status.json | grep -o '[0-9a-f]\{64\}')
    # For every later apply, whoever applies: whose repository it is, and who may repair it.
    printf '{ "owner_fingerprint": "%s", "operators": %s }\n' "$owner" "$(terraform output -json operators)" >owner.auto.tfvars.json
    rm status.json
fi
terraform apply
