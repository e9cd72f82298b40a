"""What the chart renders: sound objects that hold what deploy/README.md promises."""

import os
import re
import subprocess
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path

import kubernetes_validate

from chart import CHART, CLUSTER, SETS, TOP, containers, helm, objects, pods, refusal, text

VOLUME, BUCKET, DIRECT, APPLICATION = (TOP / f"deploy/values/{name}.yaml" for name in ("volume", "bucket", "direct", "application"))
VERSIONS = ("1.31.0", "1.34.0", "1.37.0")


def schemas(folder):
    """Lays out Kubernetes' schemas so that kubeconform finds what they refer to beside them."""
    package = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    kinds = ["_definitions", "cronjob-batch-v1", "deployment-apps-v1", "networkpolicy-networking-v1", "persistentvolumeclaim-v1", "service-v1"]
    for version in VERSIONS:
        (folder / f"v{version}").mkdir()
        for kind in kinds:
            schema = (package / f"v{version}-local-strict/{kind}.json").read_text()
            schema = re.sub(r'"\$id": "[^"]*"', '"$comment": ""', schema).replace("/api/_definitions.json#", "_definitions.json#")
            (folder / f"v{version}/{kind}.json").write_text(schema)


def every_pod():
    """Every pod of every documented set of values."""
    for values in SETS:
        for name, owner, pod in pods(objects(values)):
            yield f"{values.name}: {name}", owner, pod


class Sound(unittest.TestCase):
    def test_helm_finds_nothing_to_complain_of(self):
        self.assertEqual([values.name for values in SETS], ["application.yaml", "bucket.yaml", "direct.yaml", "volume.yaml"])
        for values in SETS:
            succeeded, said, reason = helm("lint", "--strict", *CLUSTER, CHART, "-f", values)
            self.assertTrue(succeeded, said + reason)

    def test_every_object_is_as_kubernetes_has_it(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        schemas(Path(folder.name))
        place = folder.name + "/{{ .NormalizedKubernetesVersion }}/{{ .ResourceKind }}{{ .KindSuffix }}.json"
        rendered = "\n---\n".join(text(values) for values in SETS)
        wrong = rendered.replace("concurrencyPolicy: Forbid", "concurrencyPolicy: [Forbid]")
        for version in VERSIONS:
            command = [os.environ["KUBECONFORM"], "-strict", "-summary", "-kubernetes-version", version, "-schema-location", place]
            ran = subprocess.run(command, input=rendered, capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, f"{version}: {ran.stdout}{ran.stderr}")
            self.assertIn("Invalid: 0, Errors: 0, Skipped: 0", ran.stdout)
        ran = subprocess.run(command, input=wrong, capture_output=True, text=True)
        self.assertIn("Invalid: 5, Errors: 0", ran.stdout)

    def test_names_of_one_release_meet_no_other_release(self):
        for values in SETS:
            names = [(one["kind"], one["metadata"]["name"]) for one in objects(values)]
            self.assertEqual(len(names), len(set(names)))
            self.assertTrue(all(name.startswith("copal-") for _, name in names), names)


class Secrets(unittest.TestCase):
    def test_no_secret_is_rendered_and_none_stands_in_a_variable(self):
        for values in SETS:
            self.assertNotIn("Secret", [one["kind"] for one in objects(values)])
        for name, _, pod in every_pod():
            for container in containers(pod):
                for variable in container["env"]:
                    secret = re.search("PASSWORD|SECRET|TOKEN|KEY", variable["name"])
                    self.assertTrue(not secret or variable["value"] == "/secret/given", f"{name}: {variable}")

    def test_a_secret_among_the_values_is_refused(self):
        for place in ("server", "sources[0]"):
            for variable in ("AWS_SECRET_ACCESS_KEY", "COPAL_PASSWORD", "AWS_SESSION_TOKEN"):
                setting = f"{place}.environment.{variable}=x"
                self.assertIn(f"invalid propertyName '{variable}'", refusal(VOLUME, setting))

    def test_what_the_chart_sets_itself_is_refused_in_variables_and_options(self):
        for variable in ("COPAL_REPOSITORY", "COPAL_HOST", "COPAL_STATE_DIR", "COPAL_KEY_FILE", "TMPDIR", "my_passphrase"):
            self.assertIn(f"invalid propertyName '{variable}'", refusal(VOLUME, f"sources[0].environment.{variable}=x"))
        for option in ("--password-file=x", "--password-command=x", "--key-file=x", "--repository=x", "-p", "-qp", "--host=x"):
            self.assertIn("/sources/0/options/0", refusal(VOLUME, f"sources[0].options={{{option}}}"), option)
        for option in ("--exclude-caches", "-x", "--one-file-system", "--label=p"):
            text(VOLUME, f"sources[0].options={{{option}}}")

    def test_credentials_of_a_bucket_come_from_the_secret_that_is_named(self):
        for values in (BUCKET, DIRECT):
            sealed = [container["envFrom"] for _, _, pod in pods(objects(values)) for container in pod["containers"] if "envFrom" in container]
            self.assertTrue(sealed)
            self.assertTrue(all(one == [{"secretRef": {"name": "copal-bucket"}}] for one in sealed), sealed)

    def test_the_same_repository_is_reached_at_one_endpoint_with_the_same_credentials(self):
        reached = defaultdict(list)
        for values in SETS:
            for _, _, pod in pods(objects(values)):
                for container in containers(pod):
                    variables = {variable["name"]: variable["value"] for variable in container["env"]}
                    endpoint = variables.get("AWS_ENDPOINT_URL_S3"), container.get("envFrom")
                    reached[values.name, variables["COPAL_REPOSITORY"]].append(endpoint)
        self.assertEqual(len(reached["direct.yaml", "s3://example-copal/cluster"]), 2)
        self.assertTrue(all(one == endpoints[0] for endpoints in reached.values() for one in endpoints), reached)

    def test_a_join_line_reaches_the_container_that_joins_and_no_other(self):
        (pod,) = [pod for name, _, pod in pods(objects(VOLUME)) if name == "CronJob/copal-documents"]
        mounts = {container["name"]: [mount["name"] for mount in container["volumeMounts"]] for container in containers(pod)}
        self.assertIn("secret", mounts["join"])
        self.assertNotIn("secret", mounts["copal"])


class Rights(unittest.TestCase):
    def test_no_container_is_root_or_gains_a_right(self):
        seen = 0
        for name, _, pod in every_pod():
            user = pod["securityContext"]
            self.assertTrue(user["runAsNonRoot"] and user["runAsUser"] > 0, name)
            self.assertEqual(user["seccompProfile"], {"type": "RuntimeDefault"}, name)
            self.assertIs(pod["automountServiceAccountToken"], False, name)
            for container in containers(pod):
                seen += 1
                rights = container["securityContext"]
                self.assertEqual(rights, {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}, name)
                self.assertIn("memory", container["resources"]["limits"], name)
                self.assertEqual(set(container["resources"]["requests"]), {"cpu", "memory"}, name)
        self.assertGreater(seen, 7)

    def test_what_a_container_writes_lies_in_its_volumes(self):
        for name, _, pod in every_pod():
            for container in containers(pod):
                places = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
                values = {variable["name"]: variable["value"] for variable in container["env"]}
                written = [values[variable] for variable in ("COPAL_STATE_DIR", "COPAL_CACHE_DIR", "TMPDIR")]
                written += [values["COPAL_REPOSITORY"]] * values["COPAL_REPOSITORY"].startswith("/")
                for path in written:
                    self.assertTrue(any(path == place or path.startswith(place + "/") for place in places), f"{name}: {path}")

    def test_a_source_is_read_only_also_for_the_kubelet(self):
        sources = 0
        for name, owner, pod in every_pod():
            if owner["kind"] == "CronJob":
                sources += 1
                (claim,) = [volume["persistentVolumeClaim"] for volume in pod["volumes"] if volume["name"] == "data"]
                self.assertIs(claim["readOnly"], True, name)
                (mount,) = [mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == "data"]
                self.assertIs(mount["readOnly"], True, name)
        self.assertEqual(sources, 5)

    def test_only_the_gateway_and_the_metrics_can_be_reached_if_that_is_wanted(self):
        self.assertNotIn("NetworkPolicy", [one["kind"] for one in objects(VOLUME)])
        (policy,) = [one["spec"] for one in objects(BUCKET) if one["kind"] == "NetworkPolicy"]
        self.assertEqual([rule["ports"] for rule in policy["ingress"]], [[{"port": "gateway"}], [{"port": "metrics"}]])
        (labels,) = [owner["spec"]["template"]["metadata"]["labels"] for _, owner, _ in pods(objects(BUCKET)) if owner["kind"] == "Deployment"]
        self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), labels.items())
        (policy,) = [one["spec"] for one in objects(VOLUME, "networkPolicy.enabled=true") if one["kind"] == "NetworkPolicy"]
        self.assertEqual([rule["from"] for rule in policy["ingress"]], [[{"podSelector": {}}]] * 2)

    def test_a_release_in_an_applications_namespace_gets_the_servers_certificate_and_no_key_of_the_server(self):
        (server,) = [one for one in objects(VOLUME) if one["kind"] == "Service"]
        made = objects(APPLICATION)
        self.assertEqual({one["kind"] for one in made}, {"CronJob", "PersistentVolumeClaim"})
        ((_, _, pod),) = pods(made)
        for container in containers(pod):
            variables = {variable["name"]: variable["value"] for variable in container["env"]}
            self.assertEqual(variables["COPAL_REPOSITORY"], f"https://{server['metadata']['name']}.backup.svc:8321")
            self.assertEqual(variables["COPAL_CA_FILE"], "/ca/ca.crt")
        secrets = {volume["secret"]["secretName"]: volume["secret"]["items"] for volume in pod["volumes"] if "secret" in volume}
        self.assertEqual(set(secrets), {"copal-ca", "copal-join-orders"})
        self.assertEqual(secrets["copal-ca"], [{"key": "ca.crt", "path": "ca.crt"}])

    def test_a_server_that_is_reached_from_outside_sees_the_clients_addresses(self):
        (service,) = [one["spec"] for one in objects(BUCKET) if one["kind"] == "Service"]
        self.assertEqual(service["externalTrafficPolicy"], "Local")
        (service,) = [one["spec"] for one in objects(VOLUME) if one["kind"] == "Service"]
        self.assertNotIn("externalTrafficPolicy", service)


class Writers(unittest.TestCase):
    def test_one_pod_a_time_writes_to_each_volume(self):
        for values in SETS:
            writers = defaultdict(list)
            for name, owner, pod in pods(objects(values)):
                for volume in pod["volumes"]:
                    claim = volume.get("persistentVolumeClaim", {"readOnly": True})
                    if not claim.get("readOnly"):
                        writers[claim["claimName"]].append(name)
                if owner["kind"] == "Deployment":
                    self.assertEqual((owner["spec"]["replicas"], owner["spec"]["strategy"]), (1, {"type": "Recreate"}))
                else:
                    self.assertEqual(owner["spec"]["concurrencyPolicy"], "Forbid")
            self.assertTrue(writers)
            self.assertTrue(all(len(names) == 1 for names in writers.values()), writers)

    def test_what_holds_backups_or_keys_outlives_the_release(self):
        for values in SETS:
            claims = [one["metadata"] for one in objects(values) if one["kind"] == "PersistentVolumeClaim"]
            kept = {claim["name"] for claim in claims if claim.get("annotations", {}).get("helm.sh/resource-policy") == "keep"}
            self.assertTrue(kept)
            self.assertEqual(kept, {claim["name"] for claim in claims if not claim["name"].endswith("-cache")})

    def test_two_sources_cannot_share_their_keys(self):
        same = ["sources[1].name=documents", "sources[1].claim=c", "sources[1].schedule=@daily", "sources[1].join.secret=s", "sources[1].join.key=k"]
        self.assertIn("two sources are named documents", refusal(VOLUME, *same))


class Jobs(unittest.TestCase):
    def test_every_exit_code_is_decided_and_only_what_may_pass_is_tried_again(self):
        page = (TOP / "docs/cli.md").read_text().split("\n## Exit codes\n")[1].split("\n##")[0]
        codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
        readme = (TOP / "deploy/README.md").read_text().split("about each exit code?\n")[1].split("\n## ")[0]
        told = [{int(code) for code in row.split(", ")} for row in re.findall(r"^\| ([\d, ]+) \|", readme, re.MULTILINE)]
        self.assertEqual(set.union(*told), codes)
        self.assertEqual(sum(map(len, told)), len(codes))
        for name, owner, _ in every_pod():
            if owner["kind"] == "CronJob":
                ignored, final = owner["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
                self.assertEqual((ignored["action"], ignored["onPodConditions"][0]["type"]), ("Ignore", "DisruptionTarget"), name)
                self.assertEqual((final["action"], set(final["onExitCodes"]["values"])), ("FailJob", told[2]), name)

    def test_a_source_overrides_what_all_have_also_with_nothing(self):
        jobs = {name: owner["spec"]["jobTemplate"]["spec"] for name, owner, _ in pods(objects(DIRECT))}
        self.assertEqual([jobs[f"CronJob/copal-{name}"]["backoffLimit"] for name in ("documents", "photos")], [2, 0])
        photos = jobs["CronJob/copal-photos"]["template"]["spec"]
        self.assertEqual((photos["securityContext"]["runAsUser"], photos["securityContext"]["supplementalGroups"]), (1000, [2000]))
        self.assertEqual(photos["containers"][0]["args"], ["run", "--config=/config/copal.toml", "photos"])

    def test_each_run_of_a_source_is_the_same_machine(self):
        for name, owner, pod in every_pod():
            if owner["kind"] == "CronJob":
                for container in containers(pod):
                    self.assertEqual([v["value"] for v in container["env"] if v["name"] == "COPAL_HOST"], [name.split("copal-")[1]])


class Server(unittest.TestCase):
    def test_probes_ask_what_the_gateway_answers(self):
        self.assertIn("### `GET /v1/health`", (TOP / "docs/gateway.md").read_text())
        for values in (VOLUME, BUCKET):
            (container,) = [pod["containers"][0] for _, owner, pod in pods(objects(values)) if owner["kind"] == "Deployment"]
            ports = {port["name"] for port in container["ports"]}
            self.assertEqual(container["readinessProbe"]["httpGet"], {"path": "/v1/health", "port": "gateway", "scheme": "HTTPS"})
            for probe in ("startupProbe", "livenessProbe"):
                self.assertEqual(container[probe]["tcpSocket"], {"port": "gateway"})
            self.assertEqual(ports, {"gateway", "metrics"})

    def test_prometheus_is_told_where_the_metrics_are_and_only_if_there_are_some(self):
        def told(*settings):
            (owner,) = [owner for _, owner, _ in pods(objects(VOLUME, *settings)) if owner["kind"] == "Deployment"]
            arguments = owner["spec"]["template"]["spec"]["containers"][0]["args"]
            return owner["spec"]["template"]["metadata"].get("annotations"), "--metrics-listen=0.0.0.0:9321" in arguments

        self.assertEqual(told(), ({"prometheus.io/scrape": "true", "prometheus.io/port": "9321", "prometheus.io/path": "/metrics"}, True))
        self.assertEqual(told("server.metrics=false"), (None, False))

    def test_every_argument_is_one_of_the_command(self):
        every = ["server.openSlots=true", "server.connectionsPerAddress=64", "server.dailyQuota=1G", "server.publicUrl=https://b.example", "sources[0].options={--one-file-system}"]
        every += [f"server.every.{job}=2h" for job in ("ingest", "expire", "compact", "prune", "check")]
        rendered = [pod for values in SETS for _, _, pod in pods(objects(values))] + [pod for _, _, pod in pods(objects(VOLUME, *every))]
        asked = 0
        for pod in rendered:
            for container in containers(pod):
                asked += 1
                # A reader of help reads no value, but refuses what it does not know before.
                ran = subprocess.run([os.environ["COPAL"], *container["args"], "--help"], capture_output=True, text=True)
                self.assertEqual(ran.returncode, 0, f"{container['args']}: {ran.stderr}")
        self.assertGreater(asked, 10)


class Refused(unittest.TestCase):
    def test_what_cannot_work_is_refused_with_its_remedy(self):
        for values, setting, reason in [
            (VOLUME, "image.repository=", "/image/repository"),
            (VOLUME, "server.tlsSecret=", "name a Secret of kind kubernetes.io/tls"),
            (BUCKET, "server.ownerFingerprint=", "copal status --json"),
            (BUCKET, "server.acceptInit=true", "init --ingest service"),
            (VOLUME, "server.enabled=false", "has no repository"),
            (DIRECT, "sourceDefaults.repository=http://plain", "must be https://"),
            (VOLUME, "sources[0].join=null", "at '/sources/0/join': got null, want object"),
            (VOLUME, "server.replicas=2", "additional properties 'replicas' not allowed"),
            (VOLUME, "user=0", "/user"),
        ]:
            self.assertIn(reason, refusal(values, setting), setting)

    def test_a_configuration_beside_options_is_refused(self):
        self.assertIn("has configMap and options", refusal(VOLUME, "sources[0].configMap=c"))

    def test_a_name_that_a_cronjob_cannot_have_is_refused(self):
        succeeded, _, reason = helm("template", "r" * 44, CHART, *CLUSTER, "-n", "backup", "-f", VOLUME)
        self.assertFalse(succeeded)
        self.assertIn("Kubernetes allows 52", reason)
