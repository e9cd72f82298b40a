"""The chart, rendered by helm."""

import os
import subprocess
from pathlib import Path

import yaml

TOP = Path(__file__).resolve().parents[2]
CHART = TOP / "deploy/copal"
SETS = sorted((TOP / "deploy/values").glob("*.yaml"))
HELM = os.environ.get("HELM", "helm")
# Without a cluster helm takes itself for a very old one.
CLUSTER = ("--kube-version", "1.31.0")


def helm(*words):
    """Runs helm; gives whether it succeeded, and what it says."""
    ran = subprocess.run([HELM, *map(str, words)], capture_output=True, text=True)
    return ran.returncode == 0, ran.stdout, ran.stderr


def text(values, *settings):
    """What a set of values and further settings render to."""
    succeeded, rendered, reason = helm("template", "copal", CHART, *CLUSTER, "-n", "backup", "-f", values, *flags(settings))
    assert succeeded, reason
    return rendered


def objects(values, *settings):
    """The same, decoded."""
    return [document for document in yaml.safe_load_all(text(values, *settings)) if document]


def refusal(values, *settings):
    """Why helm refuses."""
    succeeded, rendered, reason = helm("template", "copal", CHART, *CLUSTER, "-n", "backup", "-f", values, *flags(settings))
    assert not succeeded, rendered
    return reason


def flags(settings):
    return [word for setting in settings for word in ("--set", setting)]


def pods(documents):
    """Every pod that the objects start: the name of what starts it, the whole object, the pod."""
    for document in documents:
        name = f"{document['kind']}/{document['metadata']['name']}"
        if document["kind"] == "Deployment":
            yield name, document, document["spec"]["template"]["spec"]
        elif document["kind"] == "CronJob":
            yield name, document, document["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def containers(pod):
    return pod.get("initContainers", []) + pod["containers"]
