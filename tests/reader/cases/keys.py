"""Keys, slots, seals and cut points (format §4, §7 and §11) against `golden_crypto.rs`."""

import json
import unittest
from itertools import accumulate
from pathlib import Path

import blake3
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from copal.blocks import chunks_of, padme
from copal.chunker import Chunker
from copal.derive import kdf, keyed, label, sha256, u32, u64
from copal.ed25519 import public_of, verify
from copal.owner import Owner
from copal.slot import Slot, WrongSecret, decode_text
from copal.wire import Damage
from copal.xwing import XWing

from .vectors import literal, literals, numbers, octets, run

FILE = "golden_crypto.rs"
REPOSITORY, DOMAIN = run(0x10, 16), run(0x20, 16)
NOISE = blake3.blake3(b"copal golden noise").digest(length=20_001)


def owner():
    """The owner of the vectors."""
    return Owner(REPOSITORY + run(0x30, 32) + run(0x50, 32) + run(0x70, 32))


class Keys(unittest.TestCase):
    """Derivation and identity."""

    def test_x_wing_follows_the_draft(self):
        vector = json.loads((Path(__file__).parent / "xwing.json").read_text(encoding="utf-8"))
        strings = literals(FILE, "X_WING")
        key = XWing(bytes.fromhex(vector["seed"]))
        ciphertext = bytes.fromhex(vector["ct"])
        self.assertEqual(vector["seed"], strings[0])
        self.assertEqual(sha256(key.public).hex(), strings[3])
        self.assertEqual(sha256(ciphertext).hex(), strings[4])
        self.assertEqual(key.decapsulate(ciphertext).hex(), strings[2])
        second = XWing(bytes.fromhex(strings[5]))
        self.assertEqual(sha256(second.public).hex(), strings[8])

    def test_a_point_of_small_order_gives_a_secret_all_the_same(self):
        key = XWing(run(0x50, 32))
        self.assertEqual(len(key.decapsulate(bytes(1120))), 32)

    def test_derived_keys_and_ids(self):
        domain = owner().domain(DOMAIN)
        self.assertEqual(kdf(run(0x30, 32), "example", b"context"), octets(FILE, "KDF"))
        self.assertEqual(kdf(run(0x30, 32), "domain", REPOSITORY, DOMAIN), octets(FILE, "DOMAIN_KEY"))
        self.assertEqual(domain.chunk_id(b"hello"), octets(FILE, "CHUNK_ID"))
        self.assertEqual(domain.page_id(3, [run(1, 24), run(2, 24)], b"page"), octets(FILE, "PAGE_ID"))
        self.assertEqual(str(domain.boundary(1, b"a/path")), literal(FILE, "BOUNDARY"))
        self.assertEqual(domain.source_id("host", [b"/home", b"/etc"], "label"), octets(FILE, "SOURCE_ID"))
        self.assertEqual(domain.tag_id("monthly"), octets(FILE, "TAG_ID"))
        self.assertEqual([f"{domain.gear[0]:016x}", f"{domain.gear[255]:016x}"], literals(FILE, "GEAR"))

    def test_owners_public_parts_and_sealed_texts(self):
        self.assertEqual(owner().public, octets(FILE, "VERIFYING_KEY"))
        self.assertEqual(sha256(owner().kem.public), octets(FILE, "KEM_PUBLIC"))
        self.assertEqual(sha256(label("recipient"), owner().kem.public)[:16], octets(FILE, "RECIPIENT_ID"))
        self.assertEqual(owner().fingerprint(), octets(FILE, "FINGERPRINT"))
        sealed = octets(FILE, "SEALED_TEXT")
        self.assertEqual(owner().open_text("tag", run(0xA0, 16), sealed, "tag"), "monthly")
        with self.assertRaises(Damage):
            owner().open_text("client", run(0xA0, 16), sealed, "tag")
        self.assertEqual(public_of(run(1, 32)), octets(FILE, "MANIFEST_KEY"))
        self.assertEqual(public_of(run(2, 32)), octets(FILE, "REQUEST_KEY"))

    def test_key_slots_of_each_kind(self):
        self.assertEqual(Slot(octets(FILE, "PASSPHRASE_SLOT"), "slot").open_passphrase("gru\u0308n").public, owner().public)
        self.assertEqual(Slot(octets(FILE, "RECOVERY_SLOT"), "slot").open(run(0x0F, 32)).public, owner().public)
        self.assertEqual(Slot(octets(FILE, "KEY_FILE_SLOT"), "slot").open(run(0x1F, 32)).public, owner().public)
        self.assertEqual(Slot(octets(FILE, "NAMED_SLOT"), "slot").open(run(0x1F, 32)).public, owner().public)

    def test_a_wrong_passphrase_is_no_damage(self):
        stored = octets(FILE, "PASSPHRASE_SLOT")
        with self.assertRaises(WrongSecret):
            Slot(stored, "slot").open_passphrase("gr\u00fcn ")
        with self.assertRaises(Damage):
            Slot(stored[:50] + b"\0" + stored[51:], "slot")

    def test_recovery_code_and_key_file(self):
        code = literal(FILE, "RECOVERY_CODE")
        self.assertEqual(decode_text("recovery", code), run(0x0F, 32))
        self.assertEqual(decode_text("recovery", code.lower().replace("-", " ").replace("0", "o")), run(0x0F, 32))
        self.assertEqual(decode_text("key-file", literal(FILE, "KEY_FILE")), run(0x1F, 32))
        with self.assertRaises(Damage):
            decode_text("recovery", code[:-1] + "J")

    def test_signatures_are_verified_strictly(self):
        identity = bytes([1]) + bytes(31)
        with self.assertRaisesRegex(Damage, "small order"):
            verify(identity, b"anything", identity + bytes(32), "record")


class Seals(unittest.TestCase):
    """Stored blocks."""

    def test_sealed_blocks(self):
        plaintext = self.open("info", octets(FILE, "SEALED_HELLO"))
        self.assertEqual(chunks_of(plaintext, "block"), [b"hello"])
        plaintext = b"\0" + u32(300) * 2 + u32(2) + u32(100) + u32(200) + NOISE[:300]
        plaintext += bytes(-len(plaintext) % 256)
        self.assertEqual(sha256(self.seal(0, plaintext)), octets(FILE, "SEALED_NOISE"))
        self.assertEqual(chunks_of(plaintext, "block"), [NOISE[:100], NOISE[100:300]])

    def test_padding_is_checked(self):
        plaintext = self.open("info", octets(FILE, "SEALED_HELLO"))
        for wrong in (plaintext + b"\0", plaintext[:-1], plaintext[:-1] + b"\1" if plaintext[-1] == 0 else plaintext + b"\1"):
            with self.assertRaises(Damage):
                chunks_of(wrong, "block")
        self.assertEqual([padme(x) for x in (0, 1, 2, 9, 13, 100, 1000, 1025)], [0, 1, 2, 10, 14, 104, 1024, 1088])

    def associated(self, kind):
        """A of the vectors' session."""
        return label("block") + REPOSITORY + bytes([kind]) + octets(FILE, "SESSION_ID") + u64(7)

    def seal(self, kind, plaintext):
        """A stored block of the vectors' session."""
        secret = run(0x90, 32)
        nonce = keyed(kdf(secret, "nonce"), self.associated(kind) + plaintext, 12)
        return nonce + AESGCM(kdf(secret, "block")).encrypt(nonce, plaintext, self.associated(kind))

    def open(self, kind, stored):
        """The plaintext of a stored block, if sealing it again gives the same bytes."""
        number = ("data", "tree", "info").index(kind)
        plaintext = AESGCM(kdf(run(0x90, 32), "block")).decrypt(stored[:12], stored[12:], self.associated(number))
        self.assertEqual(self.seal(number, plaintext), stored)
        return plaintext


class Cuts(unittest.TestCase):
    """Content-defined chunks."""

    def test_cut_points(self):
        chunker = Chunker({"min": 256, "average": 1024, "max": 4096}, owner().domain(DOMAIN))
        self.assertEqual(list(accumulate(chunker.lengths(NOISE))), numbers(FILE, "CUTS"))
