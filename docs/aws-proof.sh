#!/usr/bin/env bash
# What only AWS can show, for an operator to run once: that a bucket of S3 keeps what a repository rests on, and that
# nobody may do more than they need. Uses the AWS CLI with an administrator's credentials, and makes a bucket of its own
# that it deletes at the end; costs less than a cent. Prints "N passed, M failed" and fails unless all passed.
#
#   docs/aws-proof.sh REGION [--keep]
#
# With the names of the deployed things in these variables it also proves what was deployed:
#   COPAL_BUCKET        the repository's bucket
#   COPAL_INGEST_ROLE, COPAL_PRUNE_ROLE, COPAL_CHECK_ROLE, COPAL_COMPACT_ROLE, COPAL_GATEWAY_ROLE  ARNs of the functions' roles
#   COPAL_PREFIX        the folder in it, if there is one
#   COPAL_INGEST_FUNCTION, COPAL_DEAD_LETTERS  the function's name and the dead-letter queue's URL, to see that notifications arrive
set -uo pipefail
export AWS_PAGER=""
export AWS_REGION=${1:?usage: docs/aws-proof.sh REGION [--keep]}
keep=${2:-}
bucket="copal-proof-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')"
work=$(mktemp -d)
passed=0 failed=0

prove() { # what must be so, and the command that shows it
    local what=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        passed=$((passed + 1)) && echo "ok      $what"
    else
        failed=$((failed + 1)) && echo "FAILED  $what" && sed 's/^/        /' "$work/out"
    fi
}
refused() { # the error that must come, and the command
    local error=$1
    shift
    ! "$@" >"$work/answer" 2>&1 && grep -q "$error" "$work/answer" || { cat "$work/answer"; return 1; }
}
put() { aws s3api put-object --bucket "$bucket" --key "$1" --body "$2" --if-none-match '*' "${@:3}"; }
sum() { openssl dgst -sha256 -binary "$1" | base64; }

cleanup() {
    if [[ $keep != --keep ]]; then
        aws s3api list-object-versions --bucket "$bucket" --output json \
            --query '{Objects: [Versions, DeleteMarkers][] | [].{Key: Key, VersionId: VersionId}}' >"$work/all" 2>/dev/null
        aws s3api delete-objects --bucket "$bucket" --delete "file://$work/all" --bypass-governance-retention >/dev/null 2>&1
        aws s3api delete-bucket --bucket "$bucket" >/dev/null 2>&1
    fi
    rm -rf "$work"
}
trap cleanup EXIT

echo "first" >"$work/a" && echo "second" >"$work/b"
location=(--create-bucket-configuration "LocationConstraint=$AWS_REGION")
[[ $AWS_REGION == us-east-1 ]] && location=()
aws s3api create-bucket --bucket "$bucket" --object-lock-enabled-for-bucket "${location[@]}" >/dev/null || exit 2

echo "== create-only, on S3 itself"
prove "a new name is created" put name "$work/a" --checksum-sha256 "$(sum "$work/a")"
prove "a name that is there is not created again" refused PreconditionFailed put name "$work/b"
prove "other bytes than the sum says are refused" refused 'BadDigest\|InvalidRequest' put other "$work/a" --checksum-sha256 "$(sum "$work/b")"
race() {
    local wins=0 pids=()
    for n in 1 2 3 4 5 6 7 8; do
        echo "$n" >"$work/race-$n"
        put race "$work/race-$n" >"$work/race-out-$n" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" && wins=$((wins + 1)); done
    [[ $wins == 1 ]] || { echo "$wins of 8 were told that they had created it"; return 1; }
}
prove "of eight who create a name at once one does" race
attests() { aws s3api head-object --bucket "$bucket" --key name --checksum-mode ENABLED --query ChecksumSHA256 --output text | grep -qxF "$(sum "$work/a")"; }
prove "S3 vouches for the SHA-256 of what it holds" attests
prove "a listing is in order and says times" aws s3api list-objects-v2 --bucket "$bucket" --query 'Contents[0].LastModified'

echo "== Object Lock"
lock() { put locked "$work/a" --object-lock-mode GOVERNANCE --object-lock-retain-until-date "$(date -u -d '+1 hour' +%FT%TZ)"; }
version() { aws s3api list-object-versions --bucket "$bucket" --prefix locked --query 'Versions[0].VersionId' --output text; }
prove "an object is created locked" lock
prove "a locked version is not deleted" refused AccessDenied aws s3api delete-object --bucket "$bucket" --key locked --version-id "$(version)"
hidden() { aws s3api delete-object --bucket "$bucket" --key locked && aws s3api get-object --bucket "$bucket" --key locked --version-id "$(version)" "$work/back" && cmp "$work/a" "$work/back"; }
prove "a deletion without a version hides it, and the version is still there" hidden

echo "== create-only, enforced by the bucket's policy"
cat >"$work/policy" <<POLICY
{"Version": "2012-10-17", "Statement": [{"Sid": "CreateOnly", "Effect": "Deny", "Principal": "*", "Action": "s3:PutObject",
 "Resource": "arn:aws:s3:::$bucket/*", "Condition": {"Null": {"s3:if-none-match": "true"}, "Bool": {"s3:ObjectCreationOperation": "true"}}}]}
POLICY
prove "the policy is taken" aws s3api put-bucket-policy --bucket "$bucket" --policy "file://$work/policy"
sleep 5
prove "a PUT that might replace is refused, also an administrator's" refused AccessDenied aws s3api put-object --bucket "$bucket" --key plain --body "$work/a"
prove "a PUT that cannot is taken" put fresh "$work/a"

if [[ -n ${COPAL_BUCKET:-} ]]; then
    echo "== IAM: who may do what in $COPAL_BUCKET"
    may() { # allowed|implicitDeny, role, action, key
        local decision
        decision=$(aws iam simulate-principal-policy --policy-source-arn "$2" --action-names "$3" \
            --resource-arns "arn:aws:s3:::$COPAL_BUCKET/${COPAL_PREFIX:+$COPAL_PREFIX/}$4" --query 'EvaluationResults[0].EvalDecision' --output text) || return 1
        [[ $1 == allowed && $decision == allowed || $1 == denied && $decision != allowed ]] || { echo "$decision"; return 1; }
    }
    for role in INGEST CHECK COMPACT GATEWAY; do
        arn=COPAL_${role}_ROLE
        for key in packs/00/x roots/x manifests/x/1 index/x; do
            prove "${role,,} may not delete $key" may denied "${!arn:?}" s3:DeleteObject "$key"
        done
        prove "${role,,} may not change who may do what" may denied "${!arn}" s3:PutBucketPolicy ""
    done
    prove "prune may delete packs" may allowed "${COPAL_PRUNE_ROLE:?}" s3:DeleteObject packs/00/x
    prove "prune may not delete manifests" may denied "$COPAL_PRUNE_ROLE" s3:DeleteObject manifests/x/1
    prove "prune may not delete what tells whose repository it is" may denied "$COPAL_PRUNE_ROLE" s3:DeleteObject copal/1
    prove "ingest may create roots" may allowed "${COPAL_INGEST_ROLE:?}" s3:PutObject roots/x
    prove "ingest may not create packs" may denied "$COPAL_INGEST_ROLE" s3:PutObject packs/00/x
    prove "the gateway may not create roots" may denied "${COPAL_GATEWAY_ROLE:?}" s3:PutObject roots/x
    public() { aws s3api get-public-access-block --bucket "$COPAL_BUCKET" --query 'PublicAccessBlockConfiguration.[BlockPublicAcls,IgnorePublicAcls,BlockPublicPolicy,RestrictPublicBuckets]' --output text | grep -qx $'True\tTrue\tTrue\tTrue'; }
    prove "nothing of the bucket can be made public" public
fi

if [[ -n ${COPAL_BUCKET:-} && -n ${COPAL_INGEST_FUNCTION:-} ]]; then
    echo "== notifications"
    invocations() {
        aws cloudwatch get-metric-statistics --namespace AWS/Lambda --metric-name Invocations --statistics Sum --period 60 \
            --dimensions "Name=FunctionName,Value=$COPAL_INGEST_FUNCTION" --start-time "$1" --end-time "$(date -u -d '+1 minute' +%FT%TZ)" \
            --query 'sum(Datapoints[].Sum)' --output text
    }
    # An object that no client could have made: ingest looks at its name, and does nothing. It stays: nobody may delete there.
    arrives() {
        local since name
        since=$(date -u -d '-1 minute' +%FT%TZ)
        name="${COPAL_PREFIX:+$COPAL_PREFIX/}manifests/proof-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')"
        aws s3api put-object --bucket "$COPAL_BUCKET" --key "$name" --body "$work/a" --if-none-match '*' || return 1
        for _ in $(seq 30); do
            [[ $(invocations "$since") =~ ^[1-9] ]] && return 0
            sleep 10
        done
        return 1
    }
    prove "a notification of manifests/ invokes ingest" arrives
    prove "no message was put aside" bash -c '[[ -z ${COPAL_DEAD_LETTERS:-} ]] || aws sqs get-queue-attributes --queue-url "$COPAL_DEAD_LETTERS" --attribute-names ApproximateNumberOfMessages --query Attributes.ApproximateNumberOfMessages --output text | grep -qx 0'
fi

echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
