"""Labels, key derivation, keyed hashes and the seal (format §1)."""

import hashlib

import blake3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .wire import Damage, refuse


def label(name):
    """L(x)."""
    return b"copal/1 " + name.encode() + b"\0"


def hkdf(key, info, length):
    """HKDF-SHA-256 without a salt."""
    return HKDF(SHA256(), length, None, info).derive(key)


def kdf(key, name, *context):
    """KDF(k, x, f…)."""
    return hkdf(key, label(name) + b"".join(context), 32)


def keyed(key, message, length=32):
    """B(k, m): keyed BLAKE3, or its first bytes, or its extended output."""
    return blake3.blake3(message, key=key).digest(length=length)


def sha256(*parts):
    """SHA-256 of the parts together."""
    return hashlib.sha256(b"".join(parts)).digest()


def gcm_open(key, nonce, associated, sealed, what):
    """The plaintext of GCM(k, N, A, m)."""
    refuse(len(nonce) != 12 or len(sealed) < 16, f"{what}: too short for a seal")
    try:
        return AESGCM(key).decrypt(nonce, sealed, associated)
    except InvalidTag:
        raise Damage(f"{what}: the seal does not open") from None


def u32(value):
    """Four bytes, little-endian."""
    return value.to_bytes(4, "little")


def u64(value):
    """Eight bytes, little-endian."""
    return value.to_bytes(8, "little")
