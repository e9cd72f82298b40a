"""Index segments (format §8)."""

from collections import namedtuple

from . import limits
from .packs import TRAILER
from .wire import Cursor, refuse

MAGIC = b"COPALIDX"
HEADER, PACK, BLOCK, ENTRY = 64, 52, 16, 32
PLACES = ("packs", "moved")
PAGE = 1 << 8

PackRow = namedtuple("PackRow", "id length header_length table_length kind place")
BlockRow = namedtuple("BlockRow", "pack offset length items")
Entry = namedtuple("Entry", "id block ordinal height is_page")


class Segment:
    """One sorted part of the index: where chunks and pages are."""

    def __init__(self, stored, what):
        self.what = what
        cursor = Cursor(stored, what)
        cursor.expect(MAGIC, "magic")
        self.domain = cursor.take(16, "domain id")
        self.random = cursor.take(16, "random")
        packs, blocks, entries = cursor.u32("packs"), cursor.u32("blocks"), cursor.u64("entries")
        cursor.zeros(8, "zero")
        refuse(entries > limits.SEGMENT_ENTRIES, f"{what}: {entries} entries")
        before = HEADER + packs * PACK + blocks * BLOCK
        pad = -before % 32
        expected = before + pad + entries * ENTRY
        refuse(len(stored) != expected, f"{what}: {len(stored)} bytes, should be {expected}")
        self.packs = [self._pack(cursor) for _ in range(packs)]
        self.blocks = [BlockRow(cursor.u32(), cursor.u32(), cursor.u32(), cursor.u32()) for _ in range(blocks)]
        cursor.zeros(pad, "pad")
        self.entries = [self._entry(cursor) for _ in range(entries)]
        cursor.done()
        self._check_order()

    def place(self, entry):
        """The pack's row, the block's row and the ordinal of an entry."""
        block = self.blocks[entry.block]
        return self.packs[block.pack], block, entry.ordinal

    def _pack(self, cursor):
        pack, length = cursor.take(32, "pack id"), cursor.u64("pack length")
        header, table = cursor.u32("header length"), cursor.u32("table length")
        kind, place = cursor.u8("kind"), cursor.u8("place")
        cursor.zeros(2, "zero of the pack")
        refuse(kind > 1 or place > 1, f"{self.what}: pack {pack.hex()} of kind {kind} at place {place}")
        refuse(length > limits.PACK, f"{self.what}: pack {pack.hex()} of {length} bytes")
        return PackRow(pack, length, header, table, ("data", "tree")[kind], PLACES[place])

    def _entry(self, cursor):
        chunk, block, ordinal, flags = cursor.take(24, "id"), cursor.u32("block"), cursor.u16("ordinal"), cursor.u16("flags")
        height, is_page = flags & 0xFF, bool(flags & PAGE)
        refuse(flags >> 9, f"{self.what}: entry {chunk.hex()} has unknown flags {flags:#x}")
        refuse(block >= len(self.blocks), f"{self.what}: entry {chunk.hex()} is in block {block}")
        allowed = 1 <= height <= limits.HEIGHT if is_page else height == 0
        refuse(not allowed, f"{self.what}: entry {chunk.hex()} has flags {flags:#x}")
        return Entry(chunk, block, ordinal, height, is_page)

    def _check_order(self):
        _check_ascending([pack.id for pack in self.packs], f"{self.what}: packs")
        for i, block in enumerate(self.blocks):
            refuse(block.pack >= len(self.packs), f"{self.what}: block {i} is in pack {block.pack}")
        _check_ascending([(block.pack, block.offset) for block in self.blocks], f"{self.what}: blocks")
        for block, following in zip(self.blocks, [*self.blocks[1:], None]):
            pack = self.packs[block.pack]
            same = following is not None and following.pack == block.pack
            end = following.offset if same else pack.length - TRAILER - pack.table_length
            refuse(not 1 <= block.length <= limits.STORED_BLOCK, f"{self.what}: a block of {block.length} bytes")
            refuse(block.offset < pack.header_length, f"{self.what}: a block at {block.offset} lies in its pack's header")
            refuse(block.offset + block.length > end, f"{self.what}: a block of pack {pack.id.hex()} reaches beyond {end}")
        places = []
        for entry in self.entries:
            pack, block, ordinal = self.place(entry)
            places.append((entry.id, pack.id, block.offset, ordinal))
            refuse(ordinal >= block.items, f"{self.what}: entry {entry.id.hex()} is item {ordinal} of {block.items}")
            refuse(entry.is_page != (pack.kind == "tree"), f"{self.what}: entry {entry.id.hex()} in a {pack.kind} pack")
        _check_ascending(places, f"{self.what}: entries")
        refuse({block.pack for block in self.blocks} != set(range(len(self.packs))), f"{self.what}: a pack without a block")
        refuse({e.block for e in self.entries} != set(range(len(self.blocks))), f"{self.what}: a block without an entry")


def _check_ascending(keys, what):
    for i, (one, following) in enumerate(zip(keys, keys[1:])):
        refuse(one >= following, f"{what}: number {i + 1} does not ascend")
