"""Sessions: the record in each pack and manifest, and the key it wraps (format §4.1)."""

from . import limits, xwing
from .derive import gcm_open, kdf, keyed, label, sha256, u64
from .shapes import HASH, ID, array, constant, data, row
from .wire import decode_cbor, refuse

KINDS = {"data": 0, "tree": 1, "info": 2}


class Session:
    """A session whose key was unwrapped: opens the blocks it sealed."""

    def __init__(self, record, owner, domain_id, what):
        refuse(len(record) > limits.SESSION_RECORD, f"{what}: the session record has {len(record)} bytes")
        self.repository = owner.repository
        self.id = sha256(label("session"), owner.repository, record)[:16]
        suite, self.domain, self.commitment, self.recipients = RECORD(decode_cbor(record, what), f"{what}: session record")
        refuse(self.domain != domain_id, f"{what}: the session is of domain {self.domain.hex()}")
        secret = self._unwrap(suite, owner, what)
        refuse(
            kdf(secret, "session-commit", owner.repository, self.domain) != self.commitment,
            f"{what}: the commitment of the session is wrong",
        )
        self._block_key = kdf(secret, "block")
        self._nonce_key = kdf(secret, "nonce")

    def _unwrap(self, suite, owner, what):
        rid, ciphertext, wrapped = self.recipients[0]
        expected = sha256(label("recipient"), owner.kem.public)[:16]
        refuse(rid != expected, f"{what}: the first recipient of the session is not the owner")
        context = owner.repository + self.domain + rid
        key = kdf(owner.kem.decapsulate(ciphertext), "session-wrap", context)
        associated = label("session-wrap") + owner.repository + bytes([suite]) + self.domain + self.commitment + rid + ciphertext
        return gcm_open(key, bytes(12), associated, wrapped, f"{what}: session key")

    def open(self, kind, counter, stored, what):
        """The plaintext of a stored block; its nonce is recomputed."""
        refuse(len(stored) > limits.STORED_BLOCK, f"{what}: {len(stored)} bytes are too many")
        refuse(len(stored) < 28, f"{what}: {len(stored)} bytes are too few")
        refuse(counter >= limits.COUNTER, f"{what}: the counter {counter} is too large")
        associated = label("block") + self.repository + bytes([KINDS[kind]]) + self.id + u64(counter)
        nonce = stored[:12]
        plaintext = gcm_open(self._block_key, nonce, associated, stored[12:], what)
        expected = keyed(self._nonce_key, associated + plaintext, 12)
        refuse(nonce != expected, f"{what}: the nonce is {nonce.hex()}, should be {expected.hex()}")
        return plaintext


RECORD = row(
    constant(1), ID, HASH, array(row(ID, data(xwing.CIPHERTEXT), data(48)), limits.RECIPIENTS, at_least=1)
)
