"""State runs (format §9)."""

from . import limits
from .records import EXTENT, REASON, RUN_KINDS
from .shapes import CHUNK_ID, HASH, ID, NUMBER, TIME, array, boolean, choice, constant, fields, integer, row
from .wire import Cursor, Damage, decode_cbor, refuse

MAGIC = b"COPALRUN"
REMOVED = 0xFFFFFFFF
OVERLAY, OVERLAY_RUNS = 6, 7
FLAGGED, WANTED, LOST = 1, 2, 4
BY_FULL_CLIENT = 8


class Run:
    """Sorted records of one kind: key → value, None where a key is removed."""

    def __init__(self, stored, what):
        self.what = what
        cursor = Cursor(stored, what)
        cursor.expect(MAGIC, "magic")
        self.number = cursor.u8("kind")
        refuse(self.number not in RUN_KINDS, f"{what}: kind {self.number} is unknown")
        self.kind = RUN_KINDS[self.number]
        cursor.zeros(7, "zero")
        self.domain = cursor.take(16, "domain id")
        refuse(self.number != OVERLAY and any(self.domain), f"{what}: a domain id in a run of kind {self.number}")
        self.random = cursor.take(16, "random")
        self.count = cursor.u64("records")
        self.records, last = {}, None
        for i in range(self.count):
            key, value = self._overlay(cursor) if self.number == OVERLAY else self._record(cursor)
            refuse(last is not None and key <= last, f"{what}: record {i} does not ascend")
            self.records[key] = value
            last = key
        cursor.done()

    def _overlay(self, cursor):
        key, time, bits = cursor.take(32, "id and pack tag"), cursor.i64("time"), cursor.u32("bits")
        cursor.zeros(4, "zero of the record")
        refuse(bits > (FLAGGED | WANTED | LOST), f"{self.what}: bits {bits} of {key.hex()}")
        return key, {"time": time, "bits": bits} if bits else None

    def _record(self, cursor):
        key_length, value_length = cursor.u16("key length"), cursor.u32("value length")
        key = cursor.take(key_length, "key")
        self._check_key(key)
        if value_length == REMOVED:
            return key, None
        refuse(value_length > limits.BODY, f"{self.what}: a value of {value_length} bytes")
        where = f"{self.what}: {key.hex()}"
        return key, VALUES[self.number](decode_cbor(cursor.take(value_length, "value"), where), where)

    def _check_key(self, key):
        length = KEYS[self.number]
        refuse(length and len(key) != length, f"{self.what}: the key {key.hex()} has {len(key)} bytes, should be {length}")
        if not length:
            try:
                key.decode("ascii")
            except UnicodeDecodeError:
                raise Damage(f"{self.what}: the key {key.hex()} is no name") from None


KEYS = {1: 48, 2: 24, 3: 16, 4: 32, 5: None, 7: 48}

_DECISION = row(
    NUMBER,
    HASH,
    choice(accepted=0, rejected=1),
    array(REASON, limits.RECEIPT_REASONS),
    array(CHUNK_ID, limits.RECEIPT_IDS),
    array(HASH, limits.RECEIPT_IDS),
)

_PACK = fields(
    {
        0: ("domain", ID),
        1: ("kind", choice(data=0, tree=1)),
        2: ("length", NUMBER),
        3: ("place", choice(packs=0, moved=1)),
        4: ("bits", integer(0, 15)),
        5: ("last_read", TIME),
        6: ("accepted", TIME),
        7: ("claim", row(ID, NUMBER), True),
    }
)


def _pack(value, where):
    pack = _PACK(value, where)
    refuse(pack["bits"] & BY_FULL_CLIENT and "claim" not in pack, f"{where}: a full client claimed it, without the claim")
    return pack


_pack.keys = _PACK.keys

VALUES = {
    1: fields({0: ("entries", NUMBER), 1: ("length", NUMBER), 2: ("first", CHUNK_ID), 3: ("last", CHUNK_ID)}),
    2: fields(
        {
            0: ("snapshot", ID),
            1: ("domain", ID),
            2: ("root", CHUNK_ID),
            3: ("partial", boolean),
            4: ("client_time", TIME),
            5: ("accepted", TIME),
            6: ("source", ID),
            7: ("tags", array(ID, limits.BODY)),
            8: ("state", choice(kept=0, forgotten=1, gone=2)),
            9: ("pinned", boolean),
            10: ("state_time", TIME),
            11: ("by_full_client", boolean),
            12: ("extent", EXTENT, True),
            13: ("released", constant(True), True),
        }
    ),
    3: fields({0: ("number", NUMBER), 1: ("hash", HASH), 2: ("time", TIME), 3: ("decided", array(_DECISION, limits.BODY))}),
    4: _pack,
    5: fields({0: ("state", choice(doomed=1, spent=2)), 1: ("time", TIME), 2: ("root", NUMBER)}),
    7: fields({0: ("root", NUMBER), 1: ("length", NUMBER), 2: ("records", NUMBER)}),
}


def fold(runs):
    """The standing records of runs of one kind, given newest first."""
    standing = {}
    for run in runs:
        for key, value in run.records.items():
            standing.setdefault(key, value)
    return {key: value for key, value in sorted(standing.items()) if value is not None}
