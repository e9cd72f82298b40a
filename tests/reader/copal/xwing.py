"""X-Wing, draft 06: ML-KEM-768 and X25519, joined by SHA3-256."""

import hashlib

from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

PUBLIC = 1216
CIPHERTEXT = 1120


class XWing:
    """A decapsulation key, expanded from its seed of 32 bytes."""

    def __init__(self, seed):
        expanded = hashlib.shake_256(seed).digest(96)
        self._lattice = MLKEM768PrivateKey.from_seed_bytes(expanded[:64])
        self._curve = X25519PrivateKey.from_private_bytes(expanded[64:])
        self._curve_public = self._curve.public_key().public_bytes_raw()
        self.public = self._lattice.public_key().public_bytes_raw() + self._curve_public

    def decapsulate(self, ciphertext):
        """The shared secret; some other value if the ciphertext is not meant for this key."""
        lattice, point = ciphertext[:1088], ciphertext[1088:]
        shared = self._lattice.decapsulate(lattice) + self._agree(point)
        return hashlib.sha3_256(shared + point + self._curve_public + rb"\.//^" + b"\\").digest()

    def _agree(self, point):
        """X25519; a point of small order gives zeros, which this library refuses and the format does not."""
        try:
            return self._curve.exchange(X25519PublicKey.from_public_bytes(point))
        except ValueError:
            return bytes(32)
