"""The golden repository (README.md), and that damage to it is seen."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

from copal.contents import Contents
from copal.derive import sha256
from copal.history import History
from copal.ledger import Ledger
from copal.listing import listing
from copal.repository import Repository
from copal.restore import Restore
from copal.slot import WrongSecret
from copal.snapshots import latest, list_snapshots
from copal.tree import Tree
from copal.verify import Verification

from .vectors import ROOT

GOLDEN = ROOT / "tests/golden"
PASSPHRASE = "golden"


class GoldenRepository(unittest.TestCase):
    """A repository of an earlier day is read as it was written."""

    @classmethod
    def setUpClass(cls):
        folder = GOLDEN / "repository"
        if not folder.is_dir():
            raise AssertionError(f"there is no golden repository at {folder.relative_to(ROOT)}")
        cls.repository = Repository(folder)
        cls.owner = cls.repository.open(PASSPHRASE)
        contents = Contents(cls.repository, cls.owner)
        history = History(contents)
        history.check()
        ledger = Ledger(contents, history)
        ledger.check()
        snapshot = max(latest(list_snapshots(contents, history)).values(), key=lambda one: one.age)
        cls.tree = Tree(ledger.library, snapshot.manifest["domain"], snapshot.manifest["snapshot"]["root"])
        cls.expected = json.loads((GOLDEN / "tree.json").read_text(encoding="utf-8"))

    def test_every_object_is_as_the_document_says(self):
        self.assertEqual(Verification(self.repository, self.owner).run(), [])

    def test_the_recovery_code_opens_it_and_a_wrong_passphrase_does_not(self):
        code = (GOLDEN / "recovery-code.txt").read_text(encoding="utf-8")
        self.assertEqual(self.repository.open(recovery=code).fingerprint(), self.owner.fingerprint())
        with self.assertRaises(WrongSecret):
            self.repository.open("gold")

    def test_the_latest_snapshot_holds_the_golden_tree(self):
        self.maxDiff = None
        found, expected = listing(self.tree), self.expected
        self.assertEqual([one["path"] for one in found], [one["path"] for one in expected])
        for one, other in zip(found, expected):
            self.assertEqual({**one, "hardlink_group": None}, {**other, "hardlink_group": None}, one["path"])
        self.assertEqual(groups(found), groups(expected))

    def test_files_are_restored_to_a_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            restore = Restore(self.tree, folder)
            restore.run()
            for one in self.expected:
                path = Path(folder) / one["path"]
                if one["type"] == "file":
                    self.assertEqual(sha256(path.read_bytes()).hex(), one["sha256"], one["path"])
                    self.assertEqual((path.stat().st_mode & 0o7777, path.stat().st_mtime_ns), (one["mode"], one["mtime_ns"]))
                if one["type"] == "symlink":
                    self.assertEqual(str(path.readlink()), str(Path(one["link_target"])), one["path"])

    def test_a_changed_byte_in_any_object_is_complained_about(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "repository"
            shutil.copytree(self.repository.path, copy)
            for name in self.repository.names():
                original = (copy / name).read_bytes()
                (copy / name).write_bytes(flipped(original, len(original) // 2))
                contents = Contents(Repository(copy), self.owner)
                History(contents).check()
                complaints = contents.complaints
                self.assertTrue(any(name in one for one in complaints), f"a changed byte of {name} went unnoticed")
                (copy / name).write_bytes(original)

    def test_a_missing_object_that_is_needed_is_complained_about(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "repository"
            for kind in ("copal/", "keys/", "clients/", "manifests/", "packs/", "state/", "index/", "roots/"):
                shutil.copytree(self.repository.path, copy)
                for name in self.repository.names(kind):
                    if not name.endswith("/b"):
                        (copy / name).unlink()
                self.assertTrue(Verification(Repository(copy), self.owner).run(), f"without {kind} nothing was missing")
                shutil.rmtree(copy)

    def test_a_second_copy_stands_for_a_client_record(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "repository"
            shutil.copytree(self.repository.path, copy)
            firsts = [name for name in self.repository.names("clients/") if not name.endswith(".b")]
            for name in firsts:
                (copy / name).unlink()
            self.assertTrue(firsts)
            self.assertEqual(Verification(Repository(copy), self.owner).run(), [])


def groups(entries):
    """Which paths are links to one inode."""
    found = {}
    for entry in entries:
        if entry["hardlink_group"] is not None:
            found.setdefault(entry["hardlink_group"], []).append(entry["path"])
    return sorted(found.values())


def flipped(stored, at):
    """The bytes with one bit changed."""
    return stored[:at] + bytes([stored[at] ^ 0x10]) + stored[at + 1 :]
