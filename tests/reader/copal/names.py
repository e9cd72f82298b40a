"""Names of objects: what kind each is of, and the ids and numbers in it (format §1 and §2)."""

import re

from . import limits
from .wire import Damage

MAX_NUMBER = 99999999999999999999


def parse_name(name):
    """The kind of the object, and its ids (bytes) and numbers (integers) in order."""
    for kind, pattern in PATTERNS.items():
        match = re.fullmatch(pattern, name)
        if match:
            parts = [_part(part) for part in match.groups()]
            numbers = [root_number(part) if kind == "root" else part for part in parts if isinstance(part, int)]
            if all(number <= limits.NUMBER for number in numbers):
                return kind, parts
    raise Damage(f"{name}: no object has such a name")


def _part(part):
    if part in ("a", "b"):
        return part
    return int(part) if len(part) == 20 else bytes.fromhex(part)


def is_prunable(name):
    """Whether a prune may delete the object of this name (bytes): a pack, a segment or a run."""
    text = name.decode("ascii", "replace")
    return any(re.fullmatch(PATTERNS[kind], text) for kind in ("pack", "moved", "segment", "run"))


def root_number(complement):
    """The number of a root, given the one in its name."""
    return MAX_NUMBER - complement


_ID = "([0-9a-f]{32})"
_HASH = "([0-9a-f]{64})"
_NUMBER = "([0-9]{20})"
_FANNED = r"([0-9a-f]{2})/(\1[0-9a-f]{62})"

PATTERNS = {
    "descriptor": f"copal/{_NUMBER}",
    "slot": f"keys/{_ID}/(a|b)",
    "client": f"clients/{_ID}/{_NUMBER}",
    "client copy": rf"clients/{_ID}/{_NUMBER}\.b",
    "pack": f"packs/{_FANNED}",
    "moved": f"moved/{_FANNED}",
    "manifest": f"manifests/{_ID}/{_NUMBER}",
    "change": f"changes/{_NUMBER}",
    "receipt": f"receipts/{_ID}/{_NUMBER}",
    "root": f"roots/{_NUMBER}",
    "expiry": f"expiries/{_NUMBER}",
    "deletion": f"deletions/{_NUMBER}-{_ID}",
    "run": f"state/{_HASH}",
    "segment": f"index/{_HASH}",
    "reader": rf"reader/{_HASH}\.wasm",
    "reader text": rf"reader/{_HASH}\.txt",
}
"""Shapes of names; of `packs/<hh>/<sha256>` the first part is hh."""

UNCHECKED = ("tmp/", "work/", "reports/", "shares/")
"""Folders of things that are no objects of the format."""
