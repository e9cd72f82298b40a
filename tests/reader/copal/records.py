"""Records: the envelope of format §3, and every field of the kinds of §5 and §6."""

from . import limits, xwing
from .derive import label, sha256
from .ed25519 import verify
from .names import parse_name, root_number
from .shapes import (
    CHUNK_ID, HASH, ID, NUMBER, TIME, U32, U64, ascending, array, boolean, choice, constant, data, fields, integer, one_of, row, text,
)
from .wire import Cursor, decode_cbor, refuse

MAGIC = b"copalrec"
NO_HASH = bytes(32)


class Record:
    """A record read by its kind: its fields by name, its hash, and what its signature covers."""

    def __init__(self, stored, name):
        self.name, self.hash = name, sha256(stored)
        self.kind, parts = parse_name(name)
        number, signed, shape, in_name = KINDS[self.kind]
        cursor = Cursor(stored, name)
        cursor.expect(MAGIC, "magic")
        cursor.expect(bytes([number]), "kind")
        self.version = cursor.take(1, "version")
        refuse(self.version != b"\x01", f"{name}: version {self.version[0]} is unknown")
        length = cursor.u32("length")
        refuse(length > (limits.ROOT_BODY if self.kind == "root" else limits.BODY), f"{name}: a body of {length} bytes")
        self.body = cursor.take(length, "body")
        self.signature = None
        if signed:
            self.signature = cursor.take(64, "signature")
        else:
            at = cursor.at
            refuse(cursor.take(32, "hash") != sha256(stored[:at]), f"{name}: the trailing hash is wrong")
        cursor.done()
        self.fields = shape(decode_cbor(self.body, name), name)
        self._check_name(in_name, parts)

    def __getitem__(self, field):
        return self.fields[field]

    def get(self, field):
        """An optional field, or None."""
        return self.fields.get(field)

    def verify(self, public, repository):
        """Refuses a record that the key did not sign."""
        verify(public, label(self.kind) + self.version + repository + self.body, self.signature, self.name)

    def _check_name(self, in_name, parts):
        if self.kind == "root":
            parts = [root_number(part) for part in parts]
        for field, part in zip(in_name, parts):
            refuse(self[field] != part, f"{self.name}: {field} in the body is {self[field]!r}")
        if "number" in in_name:
            refuse(self["number"] == 0 and self.kind != "deletion", f"{self.name}: numbers start at 1")
        if "previous" in self.fields:
            first = self["previous"] == NO_HASH
            refuse(first != (self["number"] == 1), f"{self.name}: number 1, and no other, has nothing before it")


def _pages(value, where):
    leaf, inner, low, high = row(
        integer(2, 65_536), integer(2, 65_536), integer(1, 512 << 10), integer(256, 512 << 10)
    )(value, where)
    refuse(low > high, f"{where}: page min is above page max")
    return {"leaf_fanout": leaf, "inner_fanout": inner, "min": low, "max": high}


def _chunker(value, where):
    _, low, average, high = row(
        constant(1), integer(256, 1 << 20), integer(256, 4 << 20), integer(1 << 10, 16 << 20)
    )(value, where)
    refuse(not low <= average <= high, f"{where}: sizes do not ascend")
    refuse(any(size & (size - 1) for size in (low, average, high)), f"{where}: sizes are no powers of two")
    return {"min": low, "average": average, "max": high}


def _packs(value, where):
    packs = array(row(HASH, NUMBER), limits.MANIFEST_PACKS)(value, where)
    refuse(len({pack for pack, _ in packs}) != len(packs), f"{where}: a pack is listed twice")
    return packs


def _operation(value, where):
    refuse(type(value) is not list or not value or type(value[0]) is not int, f"{where} is no operation")
    refuse(value[0] not in OPERATIONS, f"{where} is of the unknown kind {value[0]}")
    name, *shapes = OPERATIONS[value[0]]
    return [name, *row(constant(value[0]), *shapes)(value, where)[1:]]


_TEXT = text(limits.TEXT)
_SEALED_TEXT = data(0, limits.SEALED_TEXT)
_NUMBERED_HASH = row(NUMBER, HASH)
_BY = choice(client=0, service=1)
_BLOCK_TARGET = integer(256, 8 << 20)
_PACK_TARGET = integer(1 << 10, 128 << 20)
_SNAPSHOTS = array(ID, limits.OPERATION_SNAPSHOTS)
_OWNER_SIGNATURE = data(64)
REASONS = (1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 13, 14, 15, 16)
REASON = row(one_of(*REASONS), _TEXT)

EXTENT = row(U64, U64, U64)
"""About how many entries and bytes a snapshot has, and how many bytes were stored for it."""

DESCRIPTOR = fields(
    {
        0: ("version", NUMBER),
        1: ("repository", ID),
        2: ("created", TIME),
        3: ("chunker", _chunker),
        4: ("block_target", _BLOCK_TARGET),
        5: ("data_pack_target", _PACK_TARGET),
        6: ("tree_pack_target", _PACK_TARGET),
        7: ("inline_threshold", integer(0, limits.INLINE)),
        8: ("pages", _pages),
        9: ("owner_key", HASH),
        10: ("kem_public", data(xwing.PUBLIC)),
        11: ("ingest_by", _BY),
        12: ("reader", HASH, True),
        13: ("shared_domain", ID),
        14: ("zstd_level", integer(-7, 22)),
        15: ("tree_block_target", _BLOCK_TARGET),
    }
)

CLIENT = fields(
    {
        0: ("client", ID),
        1: ("version", NUMBER),
        2: ("sealed_name", _SEALED_TEXT),
        3: ("role", choice(full=0, write_only=1)),
        4: ("domain", ID),
        5: ("manifest_key", HASH, True),
        6: ("request_key", HASH, True),
        7: ("created", TIME),
        8: ("revoked", _NUMBERED_HASH, True),
        9: ("enrollment_key", HASH, True),
        10: ("signed_by", choice(owner=0, enrollment=1)),
        11: ("last_change", _NUMBERED_HASH, True),
        12: ("expires", TIME, True),
    }
)

SNAPSHOT = fields(
    {
        0: ("root", CHUNK_ID),
        1: ("partial", boolean),
        2: ("client_time", TIME),
        3: ("source", ID),
        4: ("tags", ascending(ID, limits.SNAPSHOT_TAGS)),
        5: ("session_record", data(0, limits.SESSION_RECORD)),
        6: ("counter", integer(0, limits.COUNTER - 1)),
        7: ("sealed_info", data(0, limits.SEALED_INFO)),
        8: ("extent", EXTENT, True),
    }
)

MANIFEST = fields(
    {
        0: ("client", ID),
        1: ("number", NUMBER),
        2: ("previous", HASH),
        3: ("domain", ID),
        4: ("root_seen", _NUMBERED_HASH, True),
        5: ("packs", _packs),
        6: ("snapshot", SNAPSHOT, True),
        7: ("proven", row(U64, _OWNER_SIGNATURE), True),
    }
)

EXCLUSIONS = fields(
    {
        0: ("patterns", array(row(boolean, _TEXT), limits.EXCLUSION_PATTERNS)),
        1: ("markers", ascending(data(0, limits.TEXT), limits.EXCLUSION_MARKERS)),
        2: ("larger_than", U64, True),
        3: ("one_file_system", boolean),
        4: ("is_cut", boolean),
    }
)

TROUBLES = fields(
    {
        0: ("changing", U64),
        1: ("unreadable_paths", array(data(0, limits.TEXT), limits.TROUBLE_NAMES)),
        2: ("changing_paths", array(data(0, limits.TEXT), limits.TROUBLE_NAMES)),
    }
)

ORIGIN = fields({0: ("repository", ID), 1: ("snapshot", ID), 2: ("client", ID)})

INFO = fields(
    {
        0: ("host", _TEXT),
        1: ("paths", ascending(data(0, limits.PATH), limits.SNAPSHOT_PATHS)),
        2: ("label", _TEXT),
        3: ("tags", ascending(_TEXT, limits.SNAPSHOT_TAGS, key=str.encode)),
        4: ("started", TIME),
        5: ("counts", row(U64, U64, U64, U64)),
        6: ("summary", row(U64, U64, U64, U64)),
        7: ("metadata", U32),
        8: ("program", _TEXT),
        9: ("user", _TEXT),
        64: ("exclusions", EXCLUSIONS, True),
        65: ("troubles", TROUBLES, True),
        66: ("origin", ORIGIN, True),
    }
)

OPERATIONS = {
    1: ("forget", _SNAPSHOTS),
    2: ("undelete", _SNAPSHOTS),
    3: ("pin", _SNAPSHOTS),
    4: ("unpin", _SNAPSHOTS),
    5: ("tag", _SNAPSHOTS, array(row(ID, _SEALED_TEXT), limits.OPERATION_TAGS), array(ID, limits.OPERATION_TAGS)),
    6: ("policy", data(0, limits.POLICY)),
    7: ("owner_policy", data(0, limits.POLICY), _OWNER_SIGNATURE),
    8: ("release", _SNAPSHOTS, _OWNER_SIGNATURE),
    9: ("prove", array(HASH, limits.OPERATION_PACKS), _OWNER_SIGNATURE),
    10: ("accept_loss", array(row(ID, NUMBER), limits.OPERATION_LOSSES), array(NUMBER, limits.OPERATION_LOSSES), _OWNER_SIGNATURE),
}

CHANGE = fields(
    {
        0: ("number", NUMBER),
        1: ("previous", HASH),
        2: ("client", ID),
        3: ("time", TIME),
        4: ("operations", array(_operation, limits.OPERATIONS)),
    }
)

RECEIPT = fields(
    {
        0: ("client", ID),
        1: ("number", NUMBER),
        2: ("manifest", HASH),
        3: ("outcome", choice(accepted=0, rejected=1)),
        4: ("root", NUMBER),
        5: ("time", TIME),
        6: ("by", _BY),
        7: ("reasons", array(REASON, limits.RECEIPT_REASONS)),
        8: ("missing", array(CHUNK_ID, limits.RECEIPT_IDS)),
        9: ("packs", array(HASH, limits.RECEIPT_IDS)),
    }
)

RUN_KINDS = {1: "segment", 2: "snapshot", 3: "client head", 4: "pack", 5: "doomed", 6: "overlay", 7: "overlay run"}

_NAMED_RUN = choice(**{name: number for number, name in RUN_KINDS.items() if name != "overlay"})

def _least(value, where):
    last, age = row(U32, NUMBER)(value, where)
    refuse(last == 0 and age == 0, f"{where} keeps nothing")
    return [last, age]


_HOLD = row(integer(1, 100), U64)

LINGERING = fields({0: ("until", TIME), 1: ("least", _least, True), 2: ("hold", _HOLD, True)})

ROOT = fields(
    {
        0: ("number", NUMBER),
        1: ("random", ID),
        2: ("base", _NUMBERED_HASH, True),
        3: ("time", TIME),
        4: ("rebuilt", boolean),
        5: ("runs", array(row(_NAMED_RUN, HASH, NUMBER, NUMBER), limits.ROOT_BODY)),
        6: ("last_change", _NUMBERED_HASH, True),
        7: ("policy", _NUMBERED_HASH, True),
        8: ("last_expiry", _NUMBERED_HASH, True),
        9: ("lingering", LINGERING, True),
    }
)

EXPIRY = fields(
    {
        0: ("number", NUMBER),
        1: ("previous", HASH),
        2: ("policy", NUMBER),
        3: ("time", TIME),
        4: ("snapshots", _SNAPSHOTS),
        5: ("change", NUMBER),
    }
)

_PERIODS = ("last", "hourly", "daily", "weekly", "monthly", "quarterly", "yearly")
_SPAN = row(U32, U32, U32, U32)

POLICY = fields(
    {
        0: ("counts", fields({number: (name, U32, True) for number, name in enumerate(_PERIODS)})),
        1: ("within", fields({number: (name, _SPAN, True) for number, name in enumerate(_PERIODS)})),
        2: ("tags", array(ascending(ID, limits.POLICY, at_least=1), limits.POLICY_SETS)),
        3: ("floor", _SPAN, True),
        4: ("zone", text(limits.ZONE)),
        5: ("grace", NUMBER),
        6: ("check_parts", integer(1, 2**32 - 1)),
        7: ("least", _least, True),
        8: ("hold", _HOLD, True),
    }
)
"""What a change's policy holds."""

DELETION = fields(
    {
        0: ("number", NUMBER),
        1: ("random", ID),
        2: ("time", TIME),
        3: ("objects", array(text(limits.BODY), limits.BODY)),
        4: ("baseline", _NUMBERED_HASH, True),
    }
)

KINDS = {
    "descriptor": (1, True, DESCRIPTOR, ("version",)),
    "client": (2, True, CLIENT, ("client", "version")),
    "manifest": (3, True, MANIFEST, ("client", "number")),
    "change": (4, True, CHANGE, ("number",)),
    "receipt": (16, False, RECEIPT, ("client", "number")),
    "root": (17, False, ROOT, ("number",)),
    "expiry": (18, False, EXPIRY, ("number",)),
    "deletion": (19, False, DELETION, ("number", "random")),
}
"""Kind → its number, whether it is signed, the shape of its body, and which fields its name repeats."""
