"""Everything in a repository, each object decoded on its own; what cannot be is a complaint."""

from contextlib import contextmanager

from . import limits
from .blocks import chunks_of
from .derive import sha256
from .index import Segment
from .library import OpenPacks, open_page
from .names import parse_name
from .records import INFO, KINDS, Record
from .slot import Slot
from .state import Run
from .wire import Damage, decode_cbor, refuse


class Complaints(list):
    """What is wrong, as sentences."""

    @contextmanager
    def collect(self):
        """Notes damage and goes on after the block."""
        try:
            yield
        except Damage as damage:
            self.append(str(damage))

    def check(self, good, message):
        """Notes the message unless all is well."""
        if not good:
            self.append(message)


class Contents:
    """The objects of a repository by kind and by what their names say."""

    def __init__(self, repository, owner):
        self.repository, self.owner = repository, owner
        self.complaints = Complaints()
        self.packs = OpenPacks(repository, owner)
        self.names = repository.names()
        self.found = {}
        self.slots, self.runs, self.segments, self.client_copies = {}, {}, {}, {}
        self.records = {kind: {} for kind in KINDS}
        for name in self.names:
            with self.complaints.collect():
                self._load(name)
        for key, name in self.client_copies.items():
            with self.complaints.collect():
                self._fill_in(key, name)

    def count(self, kind):
        """Notes that something of the kind was read."""
        self.found[kind] = self.found.get(kind, 0) + 1

    def latest(self, kind):
        """The record of the kind with the highest number."""
        records = self.records[kind]
        return records[max(records)] if records else None

    def newest_root(self):
        """The newest root that counts: not too far above the others, and its base is still there."""
        roots = self.records["root"]
        for number in reversed(self._reached(sorted(roots))):
            base = roots[number].get("base")
            found = base and roots.get(base[0])
            if base is None or found and found.hash == base[1]:
                return roots[number]
        return None

    def _reached(self, numbers):
        last = 0
        if numbers and numbers[0] > limits.ROOT_LEAP:
            last = max((parts[0] for parts in self.records["deletion"]), default=0)
        reached = []
        for number in numbers:
            if number <= last + limits.ROOT_LEAP:
                reached.append(number)
                last = max(last, number)
        return reached

    def by_client(self, kind, client):
        """Records of the kind that belong to a client, by number."""
        return {key[1]: record for key, record in sorted(self.records[kind].items()) if key[0] == client}

    def _load(self, name):
        kind, parts = parse_name(name)
        stored = self.repository.read(name)
        if kind in KINDS:
            record = Record(stored, name)
            key = record["number"] if kind == "root" else tuple(parts) if len(parts) > 1 else parts[0]
            self.records[kind][key] = record
        elif kind == "slot":
            self._load_slot(stored, name, parts[0])
        elif kind == "client copy":
            self.client_copies[tuple(parts)] = name
        else:
            self._load_named_by_hash(kind, stored, name, parts[-1])
        self.count(kind)

    def _fill_in(self, key, name):
        """A second copy of a client record is what the first one is, and stands for it where that cannot be read."""
        stored, first = self.repository.read(name), name.removesuffix(".b")
        if first in self.names:
            refuse(self.repository.read(first) != stored, f"{name}: {first} is not its copy")
        if key not in self.records["client"]:
            self.records["client"][key] = Record(stored, first)

    def _load_slot(self, stored, name, slot_id):
        slot = Slot(stored, name)
        refuse(slot.fields["slot"] != slot_id, f"{name}: the header names slot {slot.fields['slot'].hex()}")
        refuse(slot.fields["repository"] != self.owner.repository, f"{name}: the slot is another repository's")
        self.slots[name] = (slot, bytes(stored))

    def _load_named_by_hash(self, kind, stored, name, hash_in_name):
        found = sha256(stored)
        refuse(found != hash_in_name, f"{name}: the bytes have SHA-256 {found.hex()}")
        if kind == "run":
            self.runs[hash_in_name] = Run(stored, name)
        elif kind == "segment":
            self.segments[hash_in_name] = Segment(stored, name)
        elif kind == "reader":
            refuse(bytes(stored[:8]) != b"\0asm\x01\0\0\0", f"{name} is no WebAssembly module")
        elif kind == "reader text":
            refuse("\ufffd" in bytes(stored).decode(errors="replace"), f"{name} is not UTF-8")
        else:
            self.packs.pack(name)

    def pack_names(self):
        """The names of all packs that could be parsed."""
        return [name for name in self.names if name.startswith(("packs/", "moved/")) and name in self.packs]

    def read_pack(self, name):
        """Opens every block of a pack and recomputes every id; yields block number, ordinal, id and what it is."""
        pack = self.packs.pack(name)
        keys = self.owner.domain(pack.domain)
        for number, block in enumerate(pack.blocks):
            with self.complaints.collect():
                chunks = self.packs.chunks(name, number)
                for ordinal, (entry, plaintext) in enumerate(zip(block.entries, chunks)):
                    if pack.kind == "tree":
                        page, _ = open_page(self.packs, self.owner, name, number, ordinal, entry.id)
                        yield number, ordinal, entry.id, page
                    else:
                        found = keys.chunk_id(plaintext)
                        what = f"{name}: block {number} entry {ordinal}"
                        self.complaints.check(found == entry, f"{what} has id {found.hex()}, not {entry.hex()}")
                        yield number, ordinal, entry, plaintext

    def info(self, manifest):
        """The opened description of a manifest's snapshot."""
        snapshot = manifest["snapshot"]
        what = f"{manifest.name}: info"
        session = self.packs.session(snapshot["session_record"], manifest["domain"], manifest.name)
        plaintext = session.open("info", snapshot["counter"], snapshot["sealed_info"], what)
        chunks = chunks_of(plaintext, what)
        refuse(len(chunks) != 1, f"{what}: {len(chunks)} chunks")
        return INFO(decode_cbor(chunks[0], what), what)
