"""Every content of tests/restores.json, saved by the command, is restored by this reader as it was."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from copal.contents import Contents
from copal.history import History
from copal.ledger import Ledger
from copal.repository import Repository
from copal.restore import Restore
from copal.snapshots import latest, list_snapshots
from copal.tree import Tree

from .vectors import ROOT

TABLE = ROOT / "tests/restores.json"
PASSPHRASE = "a harbour in winter"
HOSTS = ["Python"]


class Restores(unittest.TestCase):
    """Files with and without holes, of every kind of content."""

    def test_every_content_is_restored_as_it_was_saved(self):
        table = json.loads(TABLE.read_text(encoding="utf-8"))
        self.assertEqual(table["hosts"]["tests/reader/cases/restores.py"], HOSTS)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder).resolve()
            source = place / "source"
            source.mkdir()
            for content in table["contents"]:
                path = source / content["name"]
                path.touch()
                append(path, content["parts"])
                if content.get("linked"):
                    os.link(path, source / f"{content['name']}, second name")
            copal(place, "init")
            copal(place, "backup", "source")
            for content in table["contents"]:
                append(source / content["name"], content.get("appended", []))
            copal(place, "backup", "source")
            restored = restore(place) / source.relative_to("/")
            names = sorted(os.listdir(source))
            self.assertEqual(sorted(os.listdir(restored)), names)
            for name in names:
                self.assertTrue((source / name).read_bytes() == (restored / name).read_bytes(), f"{name} differs")


def append(path, parts):
    """Appends the parts of a content to a file."""
    with path.open("r+b") as file:
        for part in parts:
            end = file.seek(0, os.SEEK_END)
            if "hole" in part:
                file.truncate(end + part["hole"])
            elif "noise" in part:
                file.write(os.urandom(part["noise"]))
            else:
                file.write(part["text"].encode())


def restore(place):
    """Restores the newest snapshot; gives where to."""
    repository = Repository(place / "repository")
    contents = Contents(repository, repository.open(PASSPHRASE))
    history = History(contents)
    history.check()
    ledger = Ledger(contents, history)
    ledger.check()
    [snapshot] = latest(list_snapshots(contents, history)).values()
    tree = Tree(ledger.library, snapshot.manifest["domain"], snapshot.manifest["snapshot"]["root"])
    run = Restore(tree, place / "restored")
    run.run()
    if run.failures:
        raise AssertionError(run.failures)
    return place / "restored"


def copal(place, *arguments):
    """Runs the command that was built."""
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "COPAL_REPOSITORY": "repository", "COPAL_PASSWORD": PASSPHRASE}
    ran = subprocess.run([target / "debug/copal", *arguments], cwd=place, env=environment, capture_output=True, check=False)
    if ran.returncode != 0:
        raise AssertionError(ran.stderr.decode(errors="replace"))
