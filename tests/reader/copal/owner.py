"""The owner secret and what follows from it (format §4.1)."""

from .derive import gcm_open, kdf, keyed, label, sha256
from .domain import Domain
from .ed25519 import public_of
from .wire import Damage, refuse
from .xwing import XWing

BYTES = 112
PURPOSES = {"client": 1, "tag": 2}


class Owner:
    """The secret a key slot holds: it opens everything."""

    def __init__(self, secret):
        refuse(len(secret) != BYTES, f"the owner secret has {len(secret)} bytes")
        self.repository = secret[:16]
        self._root_key = secret[16:48]
        self.kem = XWing(secret[48:80])
        self.public = public_of(secret[80:])
        self._domains = {}

    def fingerprint(self):
        """What clients pin."""
        return sha256(label("owner"), self.repository, self.public, self.kem.public)

    def domain(self, domain_id):
        """The keys of a domain."""
        if domain_id not in self._domains:
            self._domains[domain_id] = Domain(kdf(self._root_key, "domain", self.repository, domain_id))
        return self._domains[domain_id]

    def open_text(self, purpose, subject, sealed, what):
        """The text of a client's or a tag's sealed name; its nonce is recomputed."""
        associated = label("text") + self.repository + bytes([PURPOSES[purpose]]) + subject
        nonce = sealed[:12]
        text = gcm_open(kdf(self._root_key, "text"), nonce, associated, sealed[12:], what)
        expected = keyed(kdf(self._root_key, "text-nonce"), associated + text, 12)
        refuse(nonce != expected, f"{what}: the nonce is {nonce.hex()}, should be {expected.hex()}")
        try:
            return text.decode()
        except UnicodeDecodeError:
            raise Damage(f"{what}: the text is not UTF-8") from None
