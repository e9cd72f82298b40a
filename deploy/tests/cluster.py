"""A cluster of one machine: what helm renders is kept in a folder, and its containers are run as processes with the built
command as their image, where root runs the tests as the user and group of their pod. The script stands for kubectl and helm,
as far as deploy/README.md uses them. It shows neither scheduling nor the making of volumes: what waits for either has
a check of its own here (--wait, --timeout)."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOM = Path(os.environ.get("CLUSTER", "."))
IS_ROOT = os.geteuid() == 0
# Options of kubectl that the page gives, and how many words each has.
OPTIONS = {"-n": 2, "-f": 1, "--for=condition=complete": 1, "--timeout=24h": 1, "--timeout=10m": 1, "--type=kubernetes.io/tls": 1}


def volumes(pod, kind):
    """The folder of each volume. What a pod may not write to is a copy that nobody else sees."""
    found = {}
    for volume in pod["volumes"]:
        name = volume["name"]
        if "persistentVolumeClaim" in volume:
            found[name] = ROOM / "claims" / volume["persistentVolumeClaim"]["claimName"]
        elif "secret" in volume:
            secret = volume["secret"]
            found[name] = ROOM / "mounted" / kind / name
            found[name].mkdir(parents=True, exist_ok=True)
            given = ROOM / "secrets" / secret["secretName"]
            items = secret.get("items") or [{"key": path.name, "path": path.name} for path in given.iterdir()]
            for item in items:
                (found[name] / item["path"]).write_bytes((given / item["key"]).read_bytes())
                give(found[name] / item["path"], pod, secret["defaultMode"])
        else:
            assert "ephemeral" in volume, volume
            found[name] = ROOM / "scratch" / kind
        if not found[name].exists():
            found[name].mkdir(parents=True)
            give(found[name], pod, 0o2775)
    return found


def give(path, pod, mode):
    """Makes it the group's of a pod, as the kubelet does. The owner stays root."""
    if IS_ROOT:
        os.chown(path, 0, pod["securityContext"]["fsGroup"])
    path.chmod(mode)


def user(pod):
    """Whom a pod's processes run as."""
    rights = pod["securityContext"]
    groups = [rights["fsGroup"], *rights.get("supplementalGroups", [])]
    return {"user": rights["runAsUser"], "group": rights["runAsGroup"], "extra_groups": groups} if IS_ROOT else {}


def process(pod, container, kind):
    """The command of a container, and its variables, with the folders and addresses of this machine."""
    folders = volumes(pod, kind)
    places = {}
    for mount in container["volumeMounts"]:
        folder = folders[mount["name"]]
        inside = mount.get("subPath", "")
        if inside and not (folder / inside).exists():
            (folder / inside).mkdir()
            give(folder / inside, pod, 0o2775)
        places[mount["mountPath"]] = str(folder / inside)

    def here(text):
        for path in sorted(places, key=len, reverse=True):
            for before in ("=", ""):
                if text == before + path or text.startswith(before + path + "/"):
                    return before + places[path] + text[len(before + path):]
        option, equals, value = text.partition("=")
        if option.startswith("--") and value.startswith("/"):
            return option + equals + here(value)
        text = text.replace("0.0.0.0:8321", "127.0.0.1:0").replace("0.0.0.0:9321", "127.0.0.1:0")
        address = ROOM / "address"
        if address.exists():
            text = text.replace("https://copal-server.backup.svc:8321", address.read_text())
        return text

    environment = {variable["name"]: here(variable["value"]) for variable in container.get("env", [])}
    return [os.environ["COPAL"], *map(here, container["args"])], environment


def objects(kind):
    """What was installed last, of a kind, by name."""
    documents = yaml.safe_load_all((ROOM / "installed.yaml").read_text())
    return {document["metadata"]["name"]: document for document in documents if document and document["kind"] == kind}


def run_job(cronjob, name):
    """Runs a job to its end, as its controller would: tries again unless the exit code says that this is in vain."""
    job = objects("CronJob")[cronjob]["spec"]["jobTemplate"]["spec"]
    pod = job["template"]["spec"]
    final = [rule["onExitCodes"]["values"] for rule in job["podFailurePolicy"]["rules"] if rule["action"] == "FailJob"][0]
    codes = []
    while len(codes) <= job["backoffLimit"]:
        code = 0
        for container in pod.get("initContainers", []) + pod["containers"]:
            command, environment = process(pod, container, cronjob)
            code = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, **user(pod)).returncode
            if code:
                break
        codes.append(code)
        if not code or code in final:
            break
    jobs = ROOM / "jobs"
    jobs.mkdir(exist_ok=True)
    (jobs / name).write_text(json.dumps(codes))


def kubectl(words):
    """Does what the page asks of it."""
    plain = []
    while words:
        words = words[OPTIONS[words[0]]:] if words[0] in OPTIONS else (plain.append(words[0]) or words[1:])
    match plain:
        case ["create", "namespace", "backup"] | ["port-forward", "svc/copal-server", "8321"]:
            pass
        case ["rollout", "status", deployment]:
            assert deployment.removeprefix("deployment/") in objects("Deployment"), deployment
        case ["create", "secret", "generic", name, *files]:
            folder = ROOM / "secrets" / name
            folder.mkdir(parents=True)
            for file in files:
                key, _, path = file.removeprefix("--from-file=").rpartition("=")
                (folder / (key or Path(path).name)).write_bytes(Path(path).read_bytes())
        case ["delete", "secret", name]:
            shutil.rmtree(ROOM / "secrets" / name)
        case ["create", "job", source, name]:
            run_job(source.removeprefix("--from=cronjob/"), name)
        case ["wait", job]:
            # Without it kubectl gives up after 30 seconds.
            assert "--timeout=24h" in sys.argv, sys.argv
            codes = json.loads((ROOM / "jobs" / job.removeprefix("job/")).read_text())
            sys.exit(0 if codes[-1] == 0 else f"{job} has failed: {codes}")
        case _:
            sys.exit(f"no cluster here for kubectl {plain}")


def helm(words):
    """Renders what would be installed."""
    # "--wait" would hang in a cluster: it waits for claims that no pod uses before the first run.
    assert words[:2] == ["-n", "backup"] and words[2] in ("install", "upgrade") and "--wait" not in words, words
    command = [os.environ["HELM"], "template", "--kube-version", "1.31.0", "-n", "backup", *words[3:]]
    (ROOM / "installed.yaml").write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


if __name__ == "__main__":
    {"kubectl": kubectl, "helm": helm}[Path(sys.argv[0]).name](sys.argv[1:])
