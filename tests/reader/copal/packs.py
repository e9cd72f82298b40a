"""Packs: header, table and trailer (format §7)."""

from collections import namedtuple

from . import limits
from .wire import Cursor, refuse

MAGIC, END = b"COPALPAK", b"COPALEND"
KINDS = ("data", "tree")
TRAILER = 32

Block = namedtuple("Block", "offset length session counter entries")
PageEntry = namedtuple("PageEntry", "id replaces height references")


class Pack:
    """A pack's clear parts; blocks hold lists of chunk ids or of page entries."""

    def __init__(self, stored, what):
        self.what, self.stored = what, stored
        refuse(len(stored) > limits.PACK, f"{what}: {len(stored)} bytes are too many")
        self._read_header()
        self._read_trailer()
        self._read_table()

    def block(self, block):
        """The stored bytes of a block."""
        return self.stored[block.offset : block.offset + block.length]

    def _read_header(self):
        cursor = Cursor(self.stored, f"{self.what}: header")
        cursor.expect(MAGIC, "magic")
        cursor.expect(b"\x01", "version")
        kind = cursor.u8("kind")
        refuse(kind > 1, f"{self.what}: kind {kind} is unknown")
        self.kind = KINDS[kind]
        sessions = cursor.u16("sessions")
        refuse(not 1 <= sessions <= limits.PACK_SESSIONS, f"{self.what}: {sessions} sessions")
        self.header_length = cursor.u32("header length")
        self.domain = cursor.take(16, "domain id")
        self.random = cursor.take(16, "random")
        self.sessions = []
        for _ in range(sessions):
            length = cursor.u32("session record length")
            refuse(length > limits.SESSION_RECORD, f"{self.what}: a session record of {length} bytes")
            self.sessions.append(cursor.take(length, "session record"))
        refuse(cursor.at != self.header_length, f"{self.what}: the header ends at {cursor.at}, not {self.header_length}")

    def _read_trailer(self):
        refuse(len(self.stored) < self.header_length + TRAILER, f"{self.what}: no room for a trailer")
        cursor = Cursor(self.stored[-TRAILER:], f"{self.what}: trailer")
        self.blocks_count = cursor.u32("blocks")
        self.entries_count = cursor.u32("entries")
        self.references_count = cursor.u32("references")
        self.table_length = cursor.u32("table length")
        header_length = cursor.u32("header length")
        cursor.zeros(4, "zero")
        cursor.expect(END, "magic")
        refuse(header_length != self.header_length, f"{self.what}: the trailer has header length {header_length}")
        refuse(not 1 <= self.blocks_count <= limits.PACK_BLOCKS, f"{self.what}: {self.blocks_count} blocks")
        refuse(self.entries_count > limits.PACK_ENTRIES, f"{self.what}: {self.entries_count} entries")
        refuse(self.references_count and self.kind == "data", f"{self.what}: a data pack with references")
        entry = 24 if self.kind == "data" else 56
        expected = 24 * self.blocks_count + entry * self.entries_count + 24 * self.references_count
        refuse(self.table_length != expected, f"{self.what}: table length {self.table_length}, should be {expected}")
        start = len(self.stored) - TRAILER - self.table_length
        refuse(start < self.header_length, f"{self.what}: the table begins before the header ends")
        self.table_start = start

    def _read_table(self):
        table = self.stored[self.table_start : len(self.stored) - TRAILER]
        cursor = Cursor(table, f"{self.what}: table")
        heads = [self._block_head(cursor) for _ in range(self.blocks_count)]
        refuse(sum(head[4] for head in heads) != self.entries_count, f"{self.what}: entries of the blocks do not add up")
        self._check_tiling(heads)
        read = self._chunk_ids if self.kind == "data" else self._page_entries
        entries = read(cursor)
        cursor.done()
        self.blocks, at = [], 0
        for offset, length, session, counter, count in heads:
            self.blocks.append(Block(offset, length, session, counter, entries[at : at + count]))
            at += count

    def _block_head(self, cursor):
        offset, length = cursor.u32("block offset"), cursor.u32("block length")
        session = cursor.u16("block session")
        cursor.zeros(2, "zero of the block")
        entries, counter = cursor.u32("block entries"), cursor.u64("block counter")
        refuse(not 1 <= length <= limits.STORED_BLOCK, f"{self.what}: a block of {length} bytes")
        refuse(session >= len(self.sessions), f"{self.what}: a block of session {session}")
        refuse(not 1 <= entries <= limits.BLOCK_ENTRIES, f"{self.what}: a block of {entries} entries")
        refuse(counter >= limits.COUNTER, f"{self.what}: a block with counter {counter}")
        return offset, length, session, counter, entries

    def _check_tiling(self, heads):
        at = self.header_length
        for i, (offset, length, *_) in enumerate(heads):
            refuse(offset != at, f"{self.what}: block {i} begins at {offset}, should be {at}")
            at += length
        refuse(at != self.table_start, f"{self.what}: the blocks end at {at}, the table begins at {self.table_start}")

    def _chunk_ids(self, cursor):
        return cursor.array(self.entries_count, 24, "chunk ids")

    def _page_entries(self, cursor):
        heads = []
        for i in range(self.entries_count):
            page, replaces, height = cursor.take(24, "page id"), cursor.take(24, "replaced page"), cursor.u8("height")
            cursor.zeros(3, "zero of the page")
            references = cursor.u32("references")
            refuse(not 1 <= height <= limits.HEIGHT, f"{self.what}: page {i} has height {height}")
            refuse(references > limits.REFERENCES, f"{self.what}: page {i} has {references} references")
            heads.append((page, replaces, height, references))
        refuse(
            sum(head[3] for head in heads) != self.references_count, f"{self.what}: references of the pages do not add up"
        )
        entries = []
        for page, replaces, height, count in heads:
            references = cursor.array(count, 24, "references")
            refuse(len(set(references)) != count, f"{self.what}: page {page.hex()} lists a reference twice")
            entries.append(PageEntry(page, replaces, height, references))
        return entries
