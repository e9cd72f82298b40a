"""Key slots, and the texts of recovery codes and key files (format §4.2)."""

import hmac
import unicodedata

from argon2.low_level import Type, hash_secret_raw

from . import limits
from .derive import gcm_open, hkdf, label, sha256
from .owner import Owner
from .shapes import ID, TIME, choice, data, fields, integer, row
from .wire import Cursor, Damage, decode_cbor, refuse

SEALED = 128


class WrongSecret(Exception):
    """The slot is sound, and made for another secret."""


class Slot:
    """One wrapped copy of the owner secret."""

    def __init__(self, stored, what):
        refuse(len(stored) < 32 or sha256(stored[:-32]) != stored[-32:], f"{what}: the trailing hash is wrong")
        cursor = Cursor(stored[:-32], what)
        length = cursor.u32("header length")
        refuse(length > limits.SLOT_HEADER, f"{what}: the header has {length} bytes")
        self.header = cursor.take(length, "header")
        self.commitment = cursor.take(32, "commitment")
        self.sealed = cursor.take(SEALED, "sealed secret")
        cursor.done()
        self.what = what
        self.fields = HEADER(decode_cbor(self.header, what), what)
        has_argon = "argon2" in self.fields
        refuse(has_argon != (self.fields["kind"] == "passphrase"), f"{what}: parameters do not fit the kind")

    def open(self, entropy):
        """The owner, given u."""
        both = hkdf(entropy, label("slot") + sha256(self.header), 64)
        if not hmac.compare_digest(both[32:], self.commitment):
            raise WrongSecret(f"{self.what}: wrong passphrase, code or key file")
        associated = label("slot") + self.header + self.commitment
        owner = Owner(gcm_open(both[:32], self.fields["nonce"], associated, self.sealed, self.what))
        refuse(owner.repository != self.fields["repository"], f"{self.what}: the secret is another repository's")
        return owner

    def open_passphrase(self, passphrase):
        """The owner, given the passphrase."""
        memory, passes, lanes, salt = self.fields["argon2"]
        secret = unicodedata.normalize("NFC", passphrase).encode()
        return self.open(hash_secret_raw(secret, salt, passes, memory, lanes, 32, Type.ID, 0x13))


def decode_text(kind, text):
    """The 32 bytes of a `recovery` code or of a `key-file`."""
    letters = "".join(text.split()).replace("-", "").upper().translate(LOOKALIKES)
    prefix = PREFIXES[kind].translate(LOOKALIKES)
    refuse(not letters.startswith(prefix), f"the text is no {kind}")
    letters = letters[len(prefix) :]
    refuse(len(letters) != 56 or set(letters) - set(ALPHABET), f"the text of the {kind} is not 56 digits")
    number = 0
    for letter in letters:
        number = number << 5 | ALPHABET.index(letter)
    decoded = number.to_bytes(35, "big")
    if sha256(label(kind), decoded[:32])[:3] != decoded[32:]:
        raise Damage(f"the check digits of the {kind} are wrong")
    return decoded[:32]


PREFIXES = {"recovery": "COPALRECOVERY1", "key-file": "COPALKEY1"}
LOOKALIKES = str.maketrans("ILO", "110")
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

HEADER = fields(
    {
        0: ("kind", choice(passphrase=1, recovery=2, key_file=3)),
        1: ("slot", ID),
        2: ("repository", ID),
        3: ("argon2", row(integer(8 << 10, 4 << 20), integer(1, 64), integer(1, 16), data(16)), True),
        4: ("nonce", data(12)),
        5: ("created", TIME),
        64: ("name", data(0, limits.SLOT_HEADER), True),
    }
)
