"""Records (format §5 and §6) against `golden_records.rs`, packs and segments against `golden_packs.rs`, the state against
`golden_state.rs`."""

import unittest

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from copal.derive import label, sha256, u32
from copal.index import Segment
from copal.names import MAX_NUMBER, parse_name
from copal.packs import Pack
from copal.records import INFO, LINGERING, POLICY, Record
from copal.state import VALUES, Run
from copal.wire import Damage, decode_cbor, encode_cbor

from .vectors import literals, octets

FILE, PACKS, STATE = "golden_records.rs", "golden_packs.rs", "golden_state.rs"
REPOSITORY, CLIENT = b"\x10" * 16, b"\x11" * 16
TIME = 1_700_000_000_123_456_789
ENDS = TIME + 7 * 86_400 * 10**9
NOW = 1_790_000_000_000_000_000
OWNER, DEVICE, ENROLLMENT = (Ed25519PrivateKey.from_private_bytes(bytes([i]) * 32) for i in (1, 2, 3))


def public(key):
    """The public half."""
    return key.public_key().public_bytes_raw()


def signed(number, kind, body, key):
    """A signed record."""
    encoded = encode_cbor(body)
    signature = key.sign(label(kind) + b"\x01" + REPOSITORY + encoded)
    return b"copalrec" + bytes([number, 1]) + u32(len(encoded)) + encoded + signature


def golden(record):
    """The hash that the golden test names for a record."""
    words = literals(FILE, "records_are_as_they_always_were")
    return words[words.index(record) + 1]


def name(folder, *parts):
    """An object's name."""
    return "/".join([folder] + [f"{part:020}" if isinstance(part, int) else part.hex() for part in parts])


class Records(unittest.TestCase):
    """Each record is encoded by the document, compared with the golden bytes, and read back."""

    def check(self, stored, where, expected, key):
        """The record has the hash that the golden test names, reads back and verifies."""
        self.assertEqual(sha256(stored).hex(), expected)
        record = Record(stored, where)
        record.verify(public(key), REPOSITORY)
        return record

    def test_descriptor(self):
        body = {
            0: 1, 1: REPOSITORY, 2: TIME, 3: [1, 65536, 262144, 1048576], 4: 1 << 20, 5: 32 << 20, 6: 8 << 20, 7: 512,
            8: [128, 64, 4096, 65536], 9: public(OWNER), 10: bytes(i % 256 for i in range(1216)), 11: 1, 12: b"\x12" * 32,
            13: b"\x13" * 16, 14: 3, 15: 262144,
        }
        expected = golden("descriptor")
        record = self.check(signed(1, "descriptor", body, OWNER), name("copal", 1), expected, OWNER)
        self.assertEqual(record["ingest_by"], "service")

    def test_client_records(self):
        hashes = [golden(f"client, {state}") for state in ("enrolled", "joined", "revoked")]
        body = {0: CLIENT, 1: 1, 2: b"sealed name", 3: 1, 4: b"\x14" * 16, 7: TIME, 9: public(ENROLLMENT), 10: 0, 12: ENDS}
        self.check(signed(2, "client", body, OWNER), name("clients", CLIENT, 1), hashes[0], OWNER)
        del body[9], body[12]
        body |= {1: 2, 5: public(DEVICE), 6: b"\x15" * 32, 10: 1}
        self.check(signed(2, "client", body, ENROLLMENT), name("clients", CLIENT, 2), hashes[1], ENROLLMENT)
        body |= {1: 3, 8: [7, b"\x16" * 32], 10: 0, 11: [12, b"\x17" * 32]}
        record = self.check(signed(2, "client", body, OWNER), name("clients", CLIENT, 3), hashes[2], OWNER)
        self.assertEqual(record["role"], "write_only")

    def test_manifest(self):
        snapshot = {
            0: b"\x1b" * 24, 1: True, 2: TIME, 3: b"\x1c" * 16, 4: [b"\x1d" * 16, b"\x1e" * 16], 5: b"session record",
            6: 70_000, 7: b"sealed info",
        }
        body = {
            0: CLIENT, 1: 2, 2: b"\x17" * 32, 3: b"\x14" * 16, 4: [300, b"\x18" * 32],
            5: [[b"\x1a" * 32, 33_554_432], [b"\x19" * 32, 1]], 6: snapshot,
        }
        expected = golden("manifest")
        stored = signed(3, "manifest", body, DEVICE)
        record = self.check(stored, name("manifests", CLIENT, 2), expected, DEVICE)
        self.assertEqual(record["snapshot"]["counter"], 70_000)
        snapshot[8] = [79_872, 1_308_622_848, 209_715_200]
        expected = golden("manifest that tells its extent")
        self.check(signed(3, "manifest", body, DEVICE), name("manifests", CLIENT, 2), expected, DEVICE)
        with self.assertRaisesRegex(Damage, "number in the body is 2"):
            Record(stored, name("manifests", CLIENT, 3))
        with self.assertRaisesRegex(Damage, "proven is not an array of 2"):
            Record(signed(3, "manifest", body | {7: 1}, DEVICE), name("manifests", CLIENT, 2))
        with self.assertRaisesRegex(Damage, "unknown keys \\[8\\]"):
            Record(signed(3, "manifest", body | {8: 1}, DEVICE), name("manifests", CLIENT, 2))

    def test_change(self):
        snapshots, tag = [b"\x20" * 16, b"\x1f" * 16], [[b"\x1d" * 16, b"sealed tag"]]
        operations = [[1, snapshots], [2, []], [3, snapshots], [4, snapshots]]
        operations += [[5, snapshots, tag, [b"\x1e" * 16]], [6, b"policy"]]
        body = {0: 1, 1: bytes(32), 2: CLIENT, 3: TIME, 4: operations}
        expected = golden("change")
        record = self.check(signed(4, "change", body, DEVICE), name("changes", 1), expected, DEVICE)
        self.assertEqual([operation[0] for operation in record["operations"]], ["forget", "undelete", "pin", "unpin", "tag", "policy"])

    def test_change_of_the_owner(self):
        policy = octets(FILE, "policy_with_a_guard_is_as_it_always_was")
        place = REPOSITORY + (2).to_bytes(8, "little") + b"\x23" * 32
        snapshots = [b"\x20" * 16, b"\x1f" * 16]
        two, three, one = (number.to_bytes(8, "little") for number in (2, 3, 1))
        losses = two + CLIENT + two + CLIENT + three + one
        operations = [
            [7, policy, OWNER.sign(label("owner-policy") + place + policy)],
            [8, snapshots, OWNER.sign(label("release") + place + b"".join(snapshots))],
            [10, [[CLIENT, 2], [CLIENT, 3]], [1], OWNER.sign(label("accept-loss") + place + losses)],
        ]
        body = {0: 2, 1: b"\x23" * 32, 2: CLIENT, 3: TIME, 4: operations}
        expected = golden("change that the owner signs too")
        record = self.check(signed(4, "change", body, DEVICE), name("changes", 2), expected, DEVICE)
        self.assertEqual([operation[0] for operation in record["operations"]], ["owner_policy", "release", "accept_loss"])
        for losses in ([[CLIENT, 1 << 53]], []), ([], [1 << 53]):
            with self.assertRaisesRegex(Damage, "allowed are 0 to 9007199254740991"):
                Record(signed(4, "change", body | {4: [[10, *losses, bytes(64)]]}, DEVICE), name("changes", 2))

    def test_receipt(self):
        body = {
            0: CLIENT, 1: 2, 2: b"\x21" * 32, 3: 1, 4: 301, 5: TIME, 6: 1, 7: [[8, "pack 1a"], [14, "page 1b"]],
            8: [b"\x22" * 24], 9: [b"\x1a" * 32],
        }
        encoded = encode_cbor(body)
        stored = b"copalrec" + bytes([16, 1]) + u32(len(encoded)) + encoded
        stored += sha256(stored)
        self.assertEqual(sha256(stored).hex(), golden("receipt"))
        self.assertEqual(Record(stored, name("receipts", CLIENT, 2))["outcome"], "rejected")

    def test_expiry(self):
        expiry = Record(octets(FILE, "expiry_is_as_it_always_was"), name("expiries", 2))
        expected = {"number": 2, "previous": b"\x23" * 32, "policy": 1, "change": 4, "time": TIME}
        self.assertEqual(expiry.fields, expected | {"snapshots": [b"\x1f" * 16, b"\x20" * 16]})

    def test_policy(self):
        policy = POLICY(decode_cbor(octets(FILE, "policy_is_as_it_always_was"), "policy"), "policy")
        self.assertEqual(policy["counts"], {"last": 3, "daily": 30, "yearly": 2**32 - 1})
        self.assertEqual(policy["within"], {"last": [0, 0, 2, 12], "monthly": [1, 6, 0, 0]})
        self.assertEqual(policy["tags"], [[b"\x1d" * 16, b"\x1e" * 16], [b"\x1c" * 16]])
        rest = [policy[name] for name in ("floor", "zone", "grace", "check_parts")]
        self.assertEqual(rest, [[0, 0, 7, 0], "CET-1CEST,M3.5.0,M10.5.0/3", 86_400, 30])

    def test_policy_with_a_guard(self):
        policy = POLICY(decode_cbor(octets(FILE, "policy_with_a_guard_is_as_it_always_was"), "policy"), "policy")
        self.assertEqual((policy["least"], policy["hold"]), ([3, 14 * 86_400], [50, 64 << 20]))

    def test_snapshot_description(self):
        info = INFO(decode_cbor(octets(FILE, "snapshot_description_is_as_it_always_was"), "info"), "info")
        self.assertEqual((info["host"], info["user"], info["started"]), ("heron", "mira", -1))
        self.assertEqual(info["paths"], [b"/etc", b"/home/\xff"])
        self.assertEqual(info["counts"], [78_611, 5_000, 70, 1_300_000_000])

    def test_snapshot_description_with_exclusions(self):
        described = octets(FILE, "snapshot_description_with_exclusions_is_as_it_always_was")
        exclusions = INFO(decode_cbor(described, "info"), "info")["exclusions"]
        self.assertEqual(exclusions["patterns"], [[False, "*.o"], [True, "!Keep.O"]])
        self.assertEqual(exclusions["markers"], [b".nobackup", b"CACHEDIR.TAG"])
        rest = [exclusions[name] for name in ("larger_than", "one_file_system", "is_cut")]
        self.assertEqual(rest, [2 << 30, True, False])

    def test_snapshot_description_with_troubles(self):
        described = octets(FILE, "snapshot_description_with_troubles_is_as_it_always_was")
        troubles = INFO(decode_cbor(described, "info"), "info")["troubles"]
        named = {"unreadable_paths": [b"etc/shadow"], "changing_paths": [b"home/\xff/mail.log"]}
        self.assertEqual(troubles, {"changing": 1, **named})

    def test_snapshot_description_with_an_origin(self):
        described = octets(FILE, "snapshot_description_with_an_origin_is_as_it_always_was")
        origin = INFO(decode_cbor(described, "info"), "info")["origin"]
        ids = {"repository": bytes([0x21] * 16), "snapshot": bytes([0x22] * 16), "client": bytes([0x23] * 16)}
        self.assertEqual(origin, ids)

    def test_roots(self):
        first, lingers, second = (bytes.fromhex(one) for one in literals(STATE, "roots_are_as_they_always_were"))
        root = Record(first, name("roots", MAX_NUMBER - 7))
        self.assertEqual((root["base"], root["last_change"]), ([6, b"\x01" * 32], [12, b"\x04" * 32]))
        self.assertEqual((root["policy"], root["last_expiry"]), ([9, b"\x05" * 32], [2, b"\x06" * 32]))
        self.assertEqual(root["runs"], [["pack", b"\x02" * 32, 300, 3], ["overlay run", b"\x03" * 32, 200, 2]])
        lingering = Record(lingers, name("roots", MAX_NUMBER - 7))["lingering"]
        self.assertEqual(lingering, {"until": NOW, "least": [3, 2_592_000], "hold": [50, 67_108_864]})
        self.assertTrue(Record(second, name("roots", MAX_NUMBER - 1))["rebuilt"])

    def test_deletion(self):
        stored = octets(STATE, "deletion_record_is_as_it_always_was")
        deletion = Record(stored, f"deletions/{7:020}-{'22' * 16}")
        self.assertEqual(deletion["objects"], [f"packs/11/{'11' * 32}", f"state/{'bb' * 32}"])
        stored = octets(STATE, "baseline_record_is_as_it_always_was")
        baseline = Record(stored, f"deletions/{7:020}-{'22' * 16}")["baseline"]
        self.assertEqual(baseline, [8, b"\x33" * 32])


class Structures(unittest.TestCase):
    """Packs, segments and runs."""

    def test_data_pack(self):
        pack = Pack(octets(PACKS, "data_pack_is_as_it_always_was"), "pack")
        self.assertEqual((pack.kind, pack.sessions), ("data", [b"session"]))
        self.assertEqual([pack.block(block) for block in pack.blocks], [b"first block", b"second"])
        self.assertEqual([block.counter for block in pack.blocks], [5, 6])
        self.assertEqual([block.entries for block in pack.blocks], [[b"\1" * 24], [b"\2" * 24, b"\3" * 24]])

    def test_tree_pack(self):
        pack = Pack(octets(PACKS, "tree_pack_is_as_it_always_was"), "pack")
        leaves, top = pack.blocks
        self.assertEqual(leaves.entries[0], (b"\x0b" * 24, bytes(24), 1, [b"\1" * 24, b"\2" * 24]))
        self.assertEqual(leaves.entries[1], (b"\x0c" * 24, b"\x09" * 24, 1, []))
        self.assertEqual((top.session, top.entries), (1, [(b"\x0d" * 24, bytes(24), 2, [b"\x0b" * 24])]))

    def test_any_changed_length_of_a_pack_is_refused(self):
        stored = octets(PACKS, "tree_pack_is_as_it_always_was")
        with self.assertRaises(Damage):
            Pack(stored[:-1], "pack")
        with self.assertRaises(Damage):
            Pack(stored[:70] + b"\0" + stored[70:], "pack")

    def test_segment(self):
        segment = Segment(octets(PACKS, "segment_is_as_it_always_was"), "segment")
        self.assertEqual([(pack.kind, pack.place) for pack in segment.packs], [("tree", "moved"), ("data", "packs")])
        self.assertEqual([entry.id[0] for entry in segment.entries], [1, 2, 3, 0x0B, 0x0C, 0x0D])
        self.assertEqual([entry.height for entry in segment.entries], [0, 0, 0, 1, 1, 2])

    def test_runs_of_each_kind(self):
        names = ("segments", "snapshots", "heads", "packs", "doomed_names", "the_overlay", "runs_of_the_overlay")
        runs = [Run(octets(STATE, f"run_of_{one}_is_as_it_always_was"), one) for one in names]
        segments, snapshots, heads, packs, doomed, overlay, named = (list(run.records.values()) for run in runs)
        self.assertEqual(segments, [{"entries": 7, "length": 4096, "first": b"\4" * 24, "last": b"\5" * 24}, None])
        self.assertEqual([one and one["state"] for one in snapshots], [None, "forgotten"])
        self.assertEqual(heads[0]["decided"][1][3], [[14, "page"]])
        self.assertEqual([one and one["bits"] for one in packs], [2, 1, None])
        self.assertEqual([one and one["state"] for one in doomed], ["spent", "doomed", None])
        self.assertEqual(overlay, [{"time": -1, "bits": 6}, {"time": NOW, "bits": 1}, None])
        self.assertEqual(named, [{"root": 258, "length": 104, "records": 1}, None])

    def test_a_pack_that_a_full_client_claimed_has_its_claim(self):
        pack = {0: bytes(16), 1: 0, 2: 1, 3: 0, 4: 8, 5: 0, 6: 0}
        self.assertEqual(VALUES[4](pack | {7: [bytes(16), 1]}, "pack")["claim"], [bytes(16), 1])
        self.assertEqual(VALUES[4](pack | {4: 7}, "pack")["bits"], 7)
        with self.assertRaisesRegex(Damage, "without the claim"):
            VALUES[4](pack, "pack")

    def test_a_page_that_lists_a_reference_twice_is_refused(self):
        stored = octets(PACKS, "tree_pack_is_as_it_always_was")
        references = b"\1" * 24 + b"\2" * 24
        self.assertEqual(stored.count(references), 1)
        with self.assertRaisesRegex(Damage, "lists a reference twice"):
            Pack(stored.replace(references, b"\1" * 48), "pack")


class Cbor(unittest.TestCase):
    """Everything but the deterministic encoding is refused."""

    def test_other_encodings_are_refused(self):
        for wrong in ("1801", "190001", "9f01ff", "a2010001", "a201000100", "a10100ff", "f6", "f7", "fb0000000000000000",
                      "c000", "5f4100ff", "61ff", "a1200000", "a1414100", "00" * 2, "81" * 17 + "00", "81" * 17 + "80",
                      "9bffffffffffffffff"):
            with self.assertRaises(Damage, msg=wrong):
                decode_cbor(bytes.fromhex(wrong), "value")
        self.assertEqual(decode_cbor(bytes.fromhex("81" * 16 + "00"), "value"), eval("[" * 16 + "0" + "]" * 16))
        self.assertEqual(decode_cbor(bytes.fromhex("81" * 16 + "80"), "value"), eval("[" * 17 + "]" * 17))


class Bounds(unittest.TestCase):
    """Keys that may be ignored, and numbers that others choose."""

    def test_keys_from_64_on_are_ignored_up_to_64_kib(self):
        lingering = {0: 5, 64: 1, 65: bytes(65_528)}
        self.assertEqual(LINGERING(lingering, "map"), {"until": 5})
        with self.assertRaisesRegex(Damage, "65537 bytes that may be ignored"):
            LINGERING(lingering | {65: bytes(65_529)}, "map")
        with self.assertRaisesRegex(Damage, r"unknown keys \[63\]"):
            LINGERING({0: 5, 63: 1}, "map")

    def test_numbers_have_53_bits_but_for_sizes(self):
        most = (1 << 53) - 1
        self.assertEqual(LINGERING({0: 0, 1: [1, most], 2: [1, 2**64 - 1]}, "map")["hold"], [1, 2**64 - 1])
        with self.assertRaisesRegex(Damage, "allowed are 0 to"):
            LINGERING({0: 0, 1: [1, most + 1]}, "map")
        self.assertEqual(parse_name(f"changes/{most:020}"), ("change", [most]))
        self.assertEqual(parse_name(f"roots/{MAX_NUMBER - most:020}")[0], "root")
        for name_of_none in (f"changes/{most + 1:020}", f"roots/{MAX_NUMBER - most - 1:020}"):
            with self.assertRaisesRegex(Damage, "no object has such a name"):
                parse_name(name_of_none)
