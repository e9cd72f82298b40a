"""Account: deploys all of it with Terraform into an account in memory, as the operators' page says, uses what was deployed, and
destroys it again.

usage: account.py ARCHIVE PAGE SCHEMA PROGRAMS TOOLS, where ARCHIVE is a release, PAGE docs/aws.md, SCHEMA what `terraform
providers schema -json` says, PROGRAMS the folder of copal and copal-lambda, and TOOLS that of versitygw.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import compute, edge, messages, storage  # noqa: E401,F401 each fills the table of kinds
from aws import ACCOUNT, client
from bucket import REGION, Server
from kinds import KINDS
from moto import mock_aws
from provider import NAME, Provider, serve
from running import Distribution, Function, event

BUCKET = "example-copal"
DATA = {
    "aws_caller_identity": lambda asked: {
        "account_id": ACCOUNT, "arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/admin/me", "user_id": "me", "id": ACCOUNT},
    "aws_iam_session_context": lambda asked: {
        "issuer_arn": f"arn:aws:iam::{ACCOUNT}:role/admin", "issuer_name": "admin", "session_name": "me", "id": asked["arn"]},
    "aws_partition": lambda asked: {"partition": "aws", "dns_suffix": "amazonaws.com", "id": "aws"},
    "aws_servicequotas_service_quota": lambda asked: {"value": 1000, "id": asked["quota_code"]},
}
# Kinds that moto does not know, and that are made up. docs/testing.md has these and what it gets wrong.
GAPS = {"aws_cloudfront_response_headers_policy"}


class Site:
    """A machine of an operator, and the account."""

    def __init__(self, archive, page, schema, programs, tools):
        self.place = Path(tempfile.mkdtemp(prefix="copal-account-"))
        self.page, self.programs = Path(page).read_text(), Path(programs).resolve()
        shutil.copy(archive, self.place)
        self.provider = Provider(json.loads(Path(schema).read_text())["provider_schemas"][NAME], KINDS, DATA)
        # Terraform ends whoever does not answer.
        self.listens, where = serve(self.provider)
        self.server = Server(self.place / "s3", Path(tools).resolve())
        self.environment = dict(os.environ) | where | self.server.environment() | {
            "CHECKPOINT_DISABLE": "1", "TF_CLI_ARGS": "-no-color", "TF_CLI_ARGS_apply": "-auto-approve",
            "COPAL_PASSWORD": "a harbour in winter", "HOME": str(self.place), "PATH": f"{self.programs}:{os.environ['PATH']}",
        }
        for name in ("TF_DATA_DIR", "TF_CLI_CONFIG_FILE"):
            self.environment.pop(name, None)
        # Objects lie in another server than the account's.
        storage.MADE.append(self.server.make)

    def goes(self, folder):
        """Terraform starts a provider where it works itself: files are named from there."""
        (self.place / folder).mkdir(parents=True, exist_ok=True)
        os.chdir(self.place / folder)

    def run(self, script, folder=".", fails=False):
        told = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.place / folder, env=self.environment, timeout=300,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert (told.returncode != 0) == fails, f"{script}: {told.returncode}\n{told.stdout[-6000:]}"
        return told.stdout

    def terraform(self, arguments, folder="copal-aws/infra", fails=False):
        return self.run(f"terraform {arguments}", folder, fails)

    def acts(self):
        """What was done in the account since the last time."""
        told, self.provider.acts = Counter(self.provider.acts), []
        return told

    def end(self):
        self.server.stop()
        shutil.rmtree(self.place, ignore_errors=True)


def shown(page):
    """The commands of the first deployment, as the page shows them."""
    section = page.split("### Deploy for the first time")[1].split("\n###")[0]
    block = section.split("```sh\n")[1].split("```")[0]
    return [line.split(" # ")[0].strip() for line in block.splitlines() if line.strip()]


def the_page_leads_from_an_empty_account_to_its_page_in_at_most_six_steps(site):
    commands = shown(site.page)
    # And the page is opened.
    assert len(commands) + 1 <= 6, commands
    site.goes("copal-aws/infra")
    # Whatever region the operator's environment names.
    told = site.run("\n".join(["export AWS_REGION=us-east-1", *commands]))
    assert "copal-recovery-1-" in told, told
    address = told.strip().splitlines()[-1]
    assert address.startswith("https://") and address.endswith(".cloudfront.net"), told[-500:]
    assert site.acts()["delete"] == 0


def asked(address):
    """The status of an address."""
    try:
        return urllib.request.urlopen(address, timeout=60).status
    except urllib.error.HTTPError as refused:
        return refused.code


def what_was_deployed_shows_the_page_takes_a_backup_and_decides_about_it(site):
    owner = json.loads(site.run(f"copal -r s3://{BUCKET} status --json"))["owner"]
    functions, front = {}, Distribution(REGION)
    # The store is elsewhere, and so is the distribution.
    elsewhere = site.server.environment() | {"COPAL_ORIGIN": f"http://{front.address}"}
    try:
        for name in ("gateway", "ingest"):
            functions[name] = Function(f"copal-{name}", REGION, site.programs / "copal-lambda", elsewhere)
            assert functions[name].variables["COPAL_OWNER_FINGERPRINT"] == owner, name
        front.gateway = functions["gateway"]
        assert "COPAL_VIA" not in functions["ingest"].variables and not front.said("page")
        for path, status in (("", 200), ("share", 200), ("assets/a-1.wasm", 200), ("none", 403)):
            assert asked(f"http://{front.address}/{path}") == status, path
        # Past CloudFront nothing is answered.
        past = functions["gateway"].invoke(event("GET", "/v1/capabilities", {"host": "api", "x-copal-via": "other"}, b"", {}))
        assert past["statusCode"] == 403 and "closed" in past["body"], past
        site.run(f"mkdir letters && echo 'dear all' >letters/one && copal -r http://{front.address} backup --no-wait letters")
        told = functions["ingest"].invoke({"job": "reconcile"})
        assert told["accepted"] == 1, told
        site.run(f"copal -r http://{front.address} restore latest --target restored && diff -r letters restored$PWD/letters")
    finally:
        for function in functions.values():
            function.end()


def nothing_is_to_be_done(site, folder="copal-aws/infra"):
    """What a `check` looks up makes a plan of reading it, so that Terraform does not speak of no changes."""
    told = site.terraform("plan", folder)
    assert "No changes" in told or "Plan: 0 to add, 0 to change, 0 to destroy" in told, told[-3000:]


def deployed_again_nothing_changes(site):
    site.run("./deploy.sh", "copal-aws/infra")
    assert not site.acts()
    nothing_is_to_be_done(site)


def what_somebody_changes_is_seen_and_mended(site):
    client("iam", REGION).delete_role_policy(RoleName="copal-prune", PolicyName="calls")
    client("s3", REGION).delete_bucket_policy(Bucket=BUCKET)
    client("events", REGION).put_rule(Name="copal-changes", EventPattern=json.dumps({"source": ["aws.none"]}))
    site.terraform("apply")
    assert site.acts() == {"create": 2, "update": 1}
    nothing_is_to_be_done(site)


def a_destruction_is_refused_before_anything_is_destroyed(site):
    told = site.terraform("apply -destroy", fails=True)
    assert "prevent_destroy" in told, told[-1500:]
    assert not site.acts()


def with_leave_all_of_it_is_destroyed(site, folder="copal-aws/infra"):
    inside = site.place / folder
    for of, to in (("protection", "protection"), ("key", "key"), ("key", "replica")):
        shutil.copy(inside / f"env/destroy/{of}_override.tf.example", inside / f"modules/{to}/destroy_override.tf")
    leave = f"-var destroy_backups=true -var destroy_backups_in={BUCKET}"
    site.terraform(f"apply {leave}", folder)
    site.terraform(f"apply -destroy {leave}", folder)
    site.acts()
    left = {
        "buckets": client("s3", REGION).list_buckets()["Buckets"], "roles": client("iam", REGION).list_roles()["Roles"],
        "functions": client("lambda", REGION).list_functions()["Functions"], "topics": client("sns", REGION).list_topics()["Topics"],
        "queues": client("sqs", REGION).list_queues().get("QueueUrls", []), "rules": client("events", REGION).list_rules()["Rules"],
        "alarms": client("cloudwatch", REGION).describe_alarms()["MetricAlarms"],
        "logs": client("logs", REGION).describe_log_groups()["logGroups"],
        "apis": client("apigatewayv2", REGION).get_apis()["Items"],
        "schedules": client("scheduler", REGION).list_schedules()["Schedules"],
        "pages": client("cloudfront", REGION).list_distributions()["DistributionList"].get("Items", []),
        "web ACLs": client("wafv2", "us-east-1").list_web_acls(Scope="CLOUDFRONT")["WebACLs"],
    }
    assert not any(left.values()), {name: found for name, found in left.items() if found}


def everything_that_can_be_chosen_is_deployed_and_destroyed(site):
    zone = client("route53", REGION).create_hosted_zone(Name="example.org", CallerReference="1")["HostedZone"]["Id"].split("/")[-1]
    keeps = shutil.ignore_patterns("*.auto.tfvars*", "*.tfstate*", "*_override.tf")
    shutil.copytree(site.place / "copal-aws/infra", site.place / "all", ignore=keeps)
    settings = (site.place / "all/env/prod.tfvars.example").read_text()
    named = 'name            = "backup.example.org"'
    assert named in settings
    settings = settings.replace(named, f'{named}\n  zone_id         = "{zone}"')
    more = 'cold_packs = { class = "GLACIER_IR" }\ncors = "https://elsewhere.example.org"\n'
    (site.place / "all/all.auto.tfvars").write_text(settings + more)
    site.goes("all")
    site.run("terraform init -input=false && terraform apply", "all")
    site.acts()
    nothing_is_to_be_done(site, "all")
    with_leave_all_of_it_is_destroyed(site, "all")


def what_the_account_does_not_know_is_known(site):
    assert site.provider.gaps == GAPS, site.provider.gaps


SHOWN = [
    the_page_leads_from_an_empty_account_to_its_page_in_at_most_six_steps,
    what_was_deployed_shows_the_page_takes_a_backup_and_decides_about_it,
    deployed_again_nothing_changes,
    what_somebody_changes_is_seen_and_mended,
    a_destruction_is_refused_before_anything_is_destroyed,
    with_leave_all_of_it_is_destroyed,
    everything_that_can_be_chosen_is_deployed_and_destroyed,
    what_the_account_does_not_know_is_known,
]


def main(arguments):
    os.environ |= {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "MOTO_ACCOUNT_ID": ACCOUNT}
    passed = failed = 0
    with mock_aws():
        site = Site(*arguments)
        try:
            for act in SHOWN:
                name = act.__name__.replace("_", " ")
                try:
                    act(site)
                except Exception as error:
                    failed += 1
                    print(f"FAILED account: {name}: {type(error).__name__}: {error}", flush=True)
                    # What follows needs what has failed.
                    break
                passed += 1
                print(f"ok     account: {name}", flush=True)
        finally:
            site.end()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
