"""What a reader chooses between (format §13): roots, the newest snapshot, names of one file, and what it does not write."""

import os
import tempfile
import unittest
from types import SimpleNamespace

from copal.contents import Contents
from copal.history import History
from copal.limits import ROOT_LEAP
from copal.pages import Entry
from copal.restore import Restore, identity_of
from copal.snapshots import Snapshot, _apply


def snapshot(number, client_time, accepted, by_full_client=True):
    """A snapshot that a client made and the store accepted at these times."""
    manifest = {"snapshot": {"client_time": client_time, "partial": False}}
    return Snapshot(bytes([number] * 16), (b"client", number), manifest, {}, [], accepted, by_full_client)


def contents(roots, deletions=()):
    """Roots by number, each with its base, and records of deletions."""
    found = Contents.__new__(Contents)
    records = {number: SimpleNamespace(number=number, hash=number, get=lambda _, base=base: base) for number, base in roots.items()}
    found.records = {"root": records, "deletion": {(number, b"random"): None for number in deletions}}
    return found


class Roots(unittest.TestCase):
    """The newest that counts."""

    def test_a_root_needs_its_base(self):
        self.assertEqual(contents({1: None, 2: [1, 1], 3: [2, 2]}).newest_root().number, 3)
        self.assertEqual(contents({1: None, 2: [1, 1], 3: [2, "another hash"]}).newest_root().number, 2)
        self.assertIsNone(contents({3: [2, 2]}).newest_root())

    def test_a_root_too_far_above_the_others_is_passed_over(self):
        far = 5 + ROOT_LEAP
        self.assertEqual(contents({5: None, far: None}).newest_root().number, far)
        self.assertEqual(contents({5: None, far + 1: None}).newest_root().number, 5)
        self.assertIsNone(contents({far: None}).newest_root())
        self.assertEqual(contents({far: None}, deletions=[far]).newest_root().number, far)


class Snapshots(unittest.TestCase):
    """Their order, and what changes make of them."""

    def test_no_clock_makes_a_snapshot_the_newest(self):
        fast, slow, forged, unknown = snapshot(1, 900, 10), snapshot(2, 15, 20), snapshot(3, 1, 12, False), snapshot(4, 999, None)
        ordered = sorted([fast, slow, forged, unknown], key=lambda one: one.age)
        self.assertEqual([one.key[1] for one in ordered], [4, 1, 3, 2])

    def test_of_copies_of_one_snapshot_the_later_is_the_newer(self):
        ordered = sorted([snapshot(2, 5, 20), snapshot(1, 5, 21)], key=lambda one: one.age)
        self.assertEqual([one.key[1] for one in ordered], [2, 1])

    def test_a_release_and_a_proof_change_nothing_that_is_listed(self):
        one = snapshot(1, 1, 1)
        for operation in (("release", [one.id], bytes(64)), ("prove", [bytes(32)], bytes(64)), ("owner_policy", b"", bytes(64))):
            _apply(operation, {one.id: one})
        self.assertEqual((one.tags, one.forgotten, one.pinned), ([], False, False))


class Clients(unittest.TestCase):
    """Revocations."""

    def test_the_last_good_manifest_is_known_by_its_hash(self):
        history = History.__new__(History)
        history.clients = {b"client": {"revoked": [2, b"good"]}}
        manifests = [(1, b"any"), (2, b"good"), (2, b"another"), (3, b"good")]
        good = [history.is_good(Manifest(number, name)) for number, name in manifests]
        self.assertEqual(good, [True, True, False, False])


class Manifest(dict):
    """A manifest of the client."""

    def __init__(self, number, name):
        super().__init__(client=b"client", number=number)
        self.hash = name


class Restores(unittest.TestCase):
    """Names of one file, and entries that would lead elsewhere."""

    def test_names_of_one_group_with_other_contents_are_two_files(self):
        def entry(path, content, inode):
            return Entry(path, 0o100644, inode=inode, size=1, content=("inline", content), extras={"hardlink": 7})

        one, same, other = entry(b"a", b"x", 7), entry(b"b", b"x", 8), entry(b"c", b"y", 7)
        self.assertEqual(identity_of(one), identity_of(same))
        self.assertNotEqual(identity_of(one), identity_of(other))
        self.assertIsNone(identity_of(Entry(b"d", 0o100644)))

    def test_nothing_is_written_below_what_is_no_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            elsewhere, target = os.path.join(folder, "elsewhere"), os.path.join(folder, "target")
            os.mkdir(elsewhere)
            link = Entry(b"a", 0o120777, extras={"target": os.fsencode(elsewhere)})
            below, beside = Entry(b"a/file", 0o100644), Entry(b"ab", 0o100644)
            for one in (link, below, beside):
                one.owner = (os.getuid(), os.getgid(), b"", b"")
            tree = SimpleNamespace(entries=lambda: iter([link, below, beside]), content=lambda _: iter(()))
            restore = Restore(tree, target)
            restore.run()
            self.assertEqual(restore.failures, ["a/file: it lies below what is no directory"])
            self.assertEqual((os.listdir(elsewhere), sorted(os.listdir(target))), ([], ["a", "ab"]))
