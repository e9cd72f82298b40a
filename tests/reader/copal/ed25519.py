"""Strict verification of Ed25519: canonical S, no points of small order (format §3)."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from .wire import Damage, refuse


def public_of(seed):
    """The public key of a seed."""
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def verify(public, message, signature, what):
    """Refuses a signature that does not hold."""
    refuse(_has_small_order(public), f"{what}: the public key is a point of small order")
    refuse(_has_small_order(signature[:32]), f"{what}: R of the signature is a point of small order")
    refuse(int.from_bytes(signature[32:], "little") >= GROUP_ORDER, f"{what}: S of the signature is not canonical")
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise Damage(f"{what}: the signature does not verify") from None


def _has_small_order(point):
    y = (int.from_bytes(point, "little") & ((1 << 255) - 1)) % FIELD
    return y in SMALL_ORDER


FIELD = 2**255 - 19
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
_OF_ORDER_EIGHT = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
SMALL_ORDER = {0, 1, FIELD - 1, _OF_ORDER_EIGHT, FIELD - _OF_ORDER_EIGHT}
