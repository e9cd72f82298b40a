"""Chunks and pages by id: finds them through the index, opens blocks, and believes only recomputed ids."""

from collections import OrderedDict, defaultdict

from .blocks import chunks_of
from .packs import Pack
from .pages import decode_page
from .session import Session
from .wire import Damage, refuse


class OpenPacks:
    """Packs by name, and their blocks, opened with the sessions of their headers."""

    def __init__(self, repository, owner):
        self.repository, self.owner = repository, owner
        self._packs, self._sessions, self._blocks = {}, {}, OrderedDict()

    def __contains__(self, name):
        return name in self._packs

    def pack(self, name):
        """A pack, parsed once."""
        if name not in self._packs:
            self._packs[name] = Pack(self.repository.read(name), name)
        return self._packs[name]

    def session(self, record, domain, what):
        """A session, unwrapped once."""
        if (record, domain) not in self._sessions:
            self._sessions[record, domain] = Session(record, self.owner, domain, what)
        return self._sessions[record, domain]

    def chunks(self, name, number):
        """The plaintexts in a block of a pack."""
        if (name, number) not in self._blocks:
            pack, what = self.pack(name), f"{name}: block {number}"
            block = pack.blocks[number]
            session = self.session(pack.sessions[block.session], pack.domain, what)
            plaintext = session.open(pack.kind, block.counter, pack.block(block), what)
            chunks = chunks_of(plaintext, what)
            refuse(len(chunks) != len(block.entries), f"{what}: {len(chunks)} chunks for {len(block.entries)} entries")
            self._blocks[name, number] = chunks
            if len(self._blocks) > KEPT_BLOCKS:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end((name, number))
        return self._blocks[name, number]


class Library:
    """What the index of one root makes reachable."""

    def __init__(self, packs, owner):
        self.packs, self.owner = packs, owner
        self._places, self._pages = defaultdict(list), {}
        self._numbers = {}

    def add_segment(self, segment):
        """Takes in the entries of a segment."""
        for entry in segment.entries:
            pack, block, ordinal = segment.place(entry)
            digits = pack.id.hex()
            name = f"{pack.place}/{digits[:2]}/{digits}"
            self._places[segment.domain, entry.id].append((name, block.offset, ordinal, entry.is_page))

    def knows(self, domain, chunk):
        """Whether the index has an entry."""
        return (domain, chunk) in self._places

    def is_page(self, domain, chunk):
        """Whether the id is that of a page."""
        return any(is_page for *_, is_page in self._places[domain, chunk])

    def chunk(self, domain, chunk):
        """The plaintext of a chunk."""
        return self._first_good(domain, chunk, self._read_chunk)

    def page(self, domain, page):
        """A page and its height."""
        if (domain, page) not in self._pages:
            self._pages[domain, page] = self._first_good(domain, page, self._read_page)
        return self._pages[domain, page]

    def _first_good(self, domain, chunk, read):
        failures = []
        for place in self._places.get((domain, chunk), []):
            try:
                return read(domain, chunk, place)
            except Damage as damage:
                failures.append(str(damage))
        raise Damage("; ".join(failures) or f"{chunk.hex()} is not in the index of domain {domain.hex()}")

    def _read_chunk(self, domain, chunk, place):
        name, offset, ordinal, _ = place
        number = self._block_number(name, offset)
        chunks = self.packs.chunks(name, number)
        refuse(ordinal >= len(chunks), f"{name}: block {number} has no entry {ordinal}")
        found = self.owner.domain(domain).chunk_id(chunks[ordinal])
        refuse(found != chunk, f"{name}: block {number} entry {ordinal} has id {found.hex()}, not {chunk.hex()}")
        return chunks[ordinal]

    def _read_page(self, domain, page, place):
        name, offset, ordinal, _ = place
        number = self._block_number(name, offset)
        return open_page(self.packs, self.owner, name, number, ordinal, page)

    def _block_number(self, name, offset):
        if name not in self._numbers:
            self._numbers[name] = {block.offset: i for i, block in enumerate(self.packs.pack(name).blocks)}
        refuse(offset not in self._numbers[name], f"{name}: no block begins at {offset}")
        return self._numbers[name][offset]


def open_page(packs, owner, name, number, ordinal, expected):
    """A page of a pack and its height, its id recomputed."""
    pack = packs.pack(name)
    entry, plaintext = pack.blocks[number].entries[ordinal], packs.chunks(name, number)[ordinal]
    found = owner.domain(pack.domain).page_id(entry.height, entry.references, plaintext)
    what = f"{name}: page {expected.hex()}"
    refuse(found != expected, f"{what}: height, references and plaintext have id {found.hex()}")
    return decode_page(plaintext, entry.height, entry.references, what), entry.height


KEPT_BLOCKS = 32
