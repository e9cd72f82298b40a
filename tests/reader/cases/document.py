"""docs/format.md itself: its test vectors are what the reader computes, and its tables have every key that the reader knows."""

import hashlib
import re
import unittest
from itertools import accumulate

import blake3
from argon2.low_level import Type, hash_secret_raw
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from copal import pages, records, slot, state
from copal.blocks import chunks_of
from copal.chunker import Chunker
from copal.derive import hkdf, kdf, keyed, label, sha256, u32, u64
from copal.domain import Domain
from copal.ed25519 import public_of, verify
from copal.owner import Owner
from copal.session import Session
from copal.slot import Slot, decode_text
from copal.wire import encode_cbor

from .vectors import ROOT, run

PAGE = (ROOT / "docs/format.md").read_text(encoding="utf-8")


def vectors():
    """The values of the section of test vectors, by name."""
    section = PAGE.partition("\n## 15. ")[2].partition("\n## ")[0]
    found, name = {}, None
    for block in re.findall(r"^```\n(.*?)^```", section, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("    "):
                found[name] = f"{found[name]} {line.strip()}".strip()
            else:
                name, _, value = line.partition(" =")
                found[name] = value.strip()
    return found


VECTORS = vectors()


def octets(name):
    """A vector in hexadecimal."""
    return bytes.fromhex(VECTORS[name])


class Vectors(unittest.TestCase):
    """Each value of the page is computed again."""

    @classmethod
    def setUpClass(cls):
        parts = ("repository id R", "root key K", "X-Wing seed", "Ed25519 seed")
        cls.owner = Owner(b"".join(octets(part) for part in parts))
        cls.domain_id, cls.repository = octets("domain id"), octets("repository id R")

    def test_inputs_are_ascending_bytes(self):
        self.assertEqual((self.repository, self.domain_id), (run(0x10, 16), run(0x20, 16)))
        self.assertEqual((octets("root key K"), octets("X-Wing seed"), octets("Ed25519 seed")), (run(0x30, 32), run(0x50, 32), run(0x70, 32)))

    def test_derived_keys_and_ids(self):
        domain = self.owner.domain(self.domain_id)
        self.assertEqual(kdf(octets("root key K"), "domain", self.repository, self.domain_id), octets("domain key D"))
        self.assertEqual(domain.chunk_id(b"hello"), octets('chunk id of "hello"'))
        self.assertEqual(domain.page_id(3, [run(1, 24), run(2, 24)], b"page"), octets('page id of "page"'))
        self.assertEqual(str(domain.boundary(1, b"a/path")), VECTORS['boundary at level 1 of "a/path"'])
        self.assertEqual([f"{domain.gear[i]:016x}" for i in (0, 255)], [VECTORS["gear[0]"], VECTORS["gear[255]"]])
        choice = keyed(domain.choice, (1).to_bytes(8, "little"), 8)[::-1]
        self.assertEqual(choice.hex(), VECTORS["choice for the rolling hash 1"])
        self.assertEqual(domain.source_id("host", [b"/home", b"/etc"], "label"), octets("source id"))
        self.assertEqual(domain.tag_id("monthly"), octets('tag id of "monthly"'))

    def test_the_owners_public_parts(self):
        self.assertEqual(self.owner.public, octets("owner Ed25519 public key"))
        self.assertEqual(sha256(self.owner.kem.public), octets("SHA-256 of the owner X-Wing public key"))
        self.assertEqual(sha256(label("recipient"), self.owner.kem.public)[:16], octets("recipient id rid"))
        self.assertEqual(self.owner.fingerprint(), octets("owner fingerprint"))
        self.assertEqual(self.owner.open_text("tag", run(0xA0, 16), octets("sealed text"), "text"), "monthly")

    def test_x_wing_and_a_session_wrap(self):
        self.assertEqual(hashlib.shake_256(octets("X-Wing seed")).digest(96), octets("SHAKE256 of the X-Wing seed"))
        self.assertEqual(self.owner.kem.public[1184:], octets("X25519 public key pk_X"))
        secret, rid, ciphertext = octets("session secret s"), octets("recipient id rid"), octets("X-Wing ciphertext ct")
        shared, commitment = self.owner.kem.decapsulate(ciphertext), octets("commitment c")
        self.assertEqual(shared, octets("shared secret ss"))
        self.assertEqual(kdf(secret, "session-commit", self.repository, self.domain_id), commitment)
        key = kdf(shared, "session-wrap", self.repository + self.domain_id + rid)
        self.assertEqual(key, octets("wrapping key kw"))
        associated = label("session-wrap") + self.repository + b"\x01" + self.domain_id + commitment + rid + ciphertext
        self.assertEqual(AESGCM(key).encrypt(bytes(12), secret, associated), octets("wrapped"))
        self.assertEqual(sha256(self.session_record()), octets("SHA-256 of the session record"))
        self.assertEqual(self.session().id, octets("session id"))

    def test_a_block(self):
        secret, plaintext, associated = octets("session secret s"), octets("plaintext P"), octets("associated data A")
        self.assertEqual((kdf(secret, "block"), kdf(secret, "nonce")), (octets("block key"), octets("nonce key")))
        self.assertEqual(label("block") + self.repository + b"\x02" + octets("session id") + u64(7), associated)
        self.assertEqual(keyed(octets("nonce key"), associated + plaintext, 12), octets("nonce N"))
        self.assertEqual(self.session().open("info", 7, octets("stored block"), "block"), plaintext)
        self.assertEqual(chunks_of(plaintext, "block"), [b"hello"])

    def test_pages(self):
        keys = Domain(kdf(b"\5" * 32, "domain", b"\1" * 16, b"\2" * 16))
        plaintext, leaf = octets("page plaintext"), octets("page id of the page")
        self.assertEqual(keys.page_id(1, [], plaintext), leaf)
        [entry] = pages.decode_page(plaintext, 1, [], "page").items
        self.assertEqual((entry.path, entry.mode, entry.owner, entry.inode), (b"a", 0o040640, (1000, 100, b"ann", b"users"), 4242))
        self.assertEqual((entry.ctime, entry.mtime), (1_700_000_001_000_000_000, 1_700_000_000_123_456_789))
        second = bytes.fromhex(re.search(r"`(3a3087d5[0-9a-f]+)`", PAGE)[1])
        self.assertEqual(keys.page_id(2, [leaf, second], octets("directory plaintext")), octets("directory id"))
        children = pages.decode_page(octets("directory plaintext"), 2, [leaf, second], "page").items
        self.assertEqual([(child.path, child.entries, child.total) for child in children], [(b"a", 1, 0), (b"a/b", 1, 0)])

    def test_a_signature(self):
        seed, body = octets("owner Ed25519 seed"), octets("body")
        fields = {
            0: b"\x11" * 16, 1: 1, 2: b"sealed name", 3: 1, 4: b"\x14" * 16, 7: 1_700_000_000_123_456_789,
            9: public_of(b"\3" * 32), 10: 0, 12: 1_700_000_000_123_456_789 + 7 * 86_400 * 10**9,
        }
        self.assertEqual(encode_cbor(fields), body)
        self.assertEqual(public_of(seed), octets("owner public key"))
        message, signature = label("client") + b"\x01" + b"\x10" * 16 + body, octets("signature")
        self.assertEqual(message, octets("signed message"))
        self.assertEqual(Ed25519PrivateKey.from_private_bytes(seed).sign(message), signature)
        verify(octets("owner public key"), message, signature, "record")
        self.assertEqual(b"copalrec\x02\x01" + u32(len(body)) + body + signature, octets("client record"))

    def test_a_key_slot(self):
        found = Slot(octets("slot"), "slot")
        self.assertEqual((found.header, found.commitment), (octets("slot header"), octets("com")))
        stretched = hash_secret_raw(octets("passphrase in UTF-8, NFC"), run(0x80, 16), 1, 8192, 1, 32, Type.ID, 0x13)
        self.assertEqual(stretched, octets("u"))
        self.assertEqual(hkdf(stretched, label("slot") + sha256(found.header), 64), octets("kek") + octets("com"))
        named = Slot(octets("named slot"), "slot")
        self.assertEqual(named.header, octets("header of the named slot"))
        self.assertEqual(named.open(run(0x1F, 32)).public, self.owner.public)
        for typed in ("gr\u00fcn", "gru\u0308n"):
            self.assertEqual(found.open_passphrase(typed).public, self.owner.public)

    def test_a_recovery_code_and_a_key_file(self):
        self.assertEqual(decode_text("recovery", VECTORS["recovery code"]), run(0x0F, 32))
        self.assertEqual(decode_text("key-file", VECTORS["key file"]), run(0x1F, 32))

    def test_cut_points(self):
        noise = blake3.blake3(b"copal golden noise").digest(length=20_001)
        chunker = Chunker({"min": 256, "average": 1024, "max": 4096}, self.owner.domain(self.domain_id))
        self.assertEqual(list(accumulate(chunker.lengths(noise))), [int(end) for end in VECTORS["cuts"].split()])

    def session_record(self):
        """The session record of the vectors."""
        wrap = [octets("recipient id rid"), octets("X-Wing ciphertext ct"), octets("wrapped")]
        return encode_cbor([1, self.domain_id, octets("commitment c"), [wrap]])

    def session(self):
        """That session, unwrapped."""
        return Session(self.session_record(), self.owner, self.domain_id, "session")


class Tables(unittest.TestCase):
    """The page says what every key means."""

    def test_every_key_stands_in_its_table(self):
        shapes = {
            "### 4.2 Key slots": slot.HEADER,
            "### 5.1 Descriptor": records.DESCRIPTOR,
            "### 5.2 Client record": records.CLIENT,
            "### 5.3 Manifest": records.MANIFEST,
            "#### Snapshot of a manifest": records.SNAPSHOT,
            "#### Description of a snapshot": records.INFO,
            "#### Exclusions of a snapshot": records.EXCLUSIONS,
            "#### Troubles of a snapshot": records.TROUBLES,
            "#### Origin of a snapshot": records.ORIGIN,
            "### 5.4 Change": records.CHANGE,
            "### 5.5 Policy": records.POLICY,
            "### 6.1 Receipt": records.RECEIPT,
            "### 6.2 Root": records.ROOT,
            "#### Lingering guard of a root": records.LINGERING,
            "### 6.3 Expiry": records.EXPIRY,
            "### 6.4 Deletion record": records.DELETION,
            "#### Extras of an entry": pages.EXTRAS,
        }
        names = {1: "segment", 2: "snapshot", 3: "client head", 4: "pack", 5: "doomed name", 7: "overlay run"}
        shapes |= {f"#### Kind {kind}: {name}": state.VALUES[kind] for kind, name in names.items()}
        for heading, shape in shapes.items():
            self.assertEqual(first_column(heading, "key"), sorted(shape.keys), heading)
        self.assertEqual(first_column("### 5.4 Change", "code"), sorted(records.OPERATIONS))
        self.assertEqual(first_column("### 13.6 Why is a manifest rejected?", "code"), list(records.REASONS))

    def test_sections_that_are_referred_to_are_there(self):
        there = set(re.findall(r"^#+ (\d+(?:\.\d+)?|Appendix A|A\.\d)\.? ", PAGE, re.MULTILINE))
        named = set(re.findall(r"(?<!its )§(\d+(?:\.\d+)?)", PAGE)) | set(re.findall(r"Appendix (A\.\d)", PAGE))
        self.assertEqual(sorted(named - there), [])


def first_column(heading, title):
    """The numbers in the first column of the table with that title, below a heading."""
    section = PAGE.partition(f"\n{heading}\n")[2]
    table = section.partition(f"\n| {title} |")[2].partition("\n\n")[0]
    return [int(number) for number in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)]
