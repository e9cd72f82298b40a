"""Pages of a tree: their columns, decoded strictly (format §10). Whatever the document fixes is refused when it differs."""

import stat
from dataclasses import dataclass, field

from . import limits
from .shapes import U32, U64, array, data, fields, row
from .wire import Cursor, decode_cbor, refuse, signed64

ENTRIES, DIRECTORY, LIST, LISTS = 0, 1, 2, 3
COLUMNS = {ENTRIES: 15, DIRECTORY: 5, LIST: 2, LISTS: 2}
NANOS = 10**9
UNBOUNDED = 2**64 - 1


@dataclass
class Entry:
    """One file, directory, link or device."""

    path: bytes
    mode: int = 0
    owner: tuple = ()
    ctime: int = 0
    mtime: int = 0
    birth: int | None = None
    inode: int = 0
    size: int = 0
    content: tuple = ("none",)
    extras: dict = field(default_factory=dict)
    weight: int = 0

    @property
    def is_file(self):
        """Whether this is a regular file."""
        return stat.S_ISREG(self.mode)

    def holes(self):
        """The holes as pairs of offset and length."""
        return self.extras.get("holes", [])

    def content_length(self):
        """How many bytes the file has outside its holes."""
        return self.size - sum(length for _, length in self.holes())


@dataclass
class Child:
    """A page of entries seen from the page above it."""

    path: bytes
    reference: bytes = b""
    entries: int = 0
    total: int = 0
    weight: int = 0


@dataclass
class Piece:
    """A chunk, or a page of a content list, with the bytes below it."""

    reference: bytes
    length: int
    weight: int = 40


@dataclass
class Page:
    """A decoded page: its items are entries, children or pieces."""

    kind: int
    items: list
    references: list


def path_key(path):
    """Orders paths as a tree does: `/` below every other byte."""
    return path.replace(b"/", b"\0")


def decode_page(plaintext, height, references, what):
    """The page of this height with these references."""
    refuse(len(plaintext) > limits.PAGE, f"{what}: {len(plaintext)} bytes are too many")
    cursor = Cursor(plaintext, what)
    cursor.expect(b"\x01", "version")
    kind = cursor.u8("kind")
    refuse(kind not in COLUMNS, f"{what}: kind {kind} is unknown")
    count = cursor.varint("count")
    refuse(count > limits.PAGE_ITEMS, f"{what}: {count} items are too many")
    columns = []
    for number in range(COLUMNS[kind]):
        length = cursor.varint(f"length of column {number}")
        columns.append(Cursor(cursor.take(length, f"column {number}"), f"{what}: column {number}"))
    cursor.done()
    read = {ENTRIES: _entries, DIRECTORY: _children, LIST: _chunks, LISTS: _pieces}[kind]
    pool = References(references, what)
    items = read(columns, count, pool)
    for column in columns:
        column.done()
    pool.done()
    _check_height(kind, height, items, what)
    return Page(kind, items, references)


def _check_height(kind, height, items, what):
    """What the page itself tells of its height: nothing but the lists of files, if it refers to pages of entries."""
    if kind == ENTRIES:
        expected = 1 + max((item.content[2] for item in items if item.content[0] == "list"), default=0)
        refuse(height != expected, f"{what}: height {height}, should be {expected}")
    else:
        refuse(height < 1 or (height == 1) != (kind == LIST), f"{what}: height {height} of kind {kind}")


class References:
    """A page's references, given out in the order of first use."""

    def __init__(self, references, what):
        self.all, self.used, self.what = references, 0, what

    def read(self, column):
        """One reference."""
        value = column.varint("reference")
        position = value - 1
        if value == 0:
            position = self.used
            self.used += 1
            refuse(position >= len(self.all), f"{self.what}: more than {len(self.all)} references are used")
        refuse(position >= self.used, f"{self.what}: reference {position} is used before its turn")
        return self.all[position]

    def done(self):
        """Refuses references without use."""
        refuse(self.used != len(self.all), f"{self.what}: {self.used} of {len(self.all)} references are used")


def _pieces(columns, count, pool):
    references, lengths = columns
    pieces = [Piece(pool.read(references), lengths.varint("length")) for _ in range(count)]
    refuse(any(piece.length == 0 for piece in pieces), f"{lengths.what}: a length of zero")
    refuse(sum(piece.length for piece in pieces) > UNBOUNDED, f"{lengths.what}: the lengths exceed 64 bits in sum")
    return pieces


def _chunks(columns, count, pool):
    pieces = _pieces(columns, count, pool)
    refuse(any(piece.length > limits.CHUNK for piece in pieces), f"{columns[1].what}: a chunk that is too long")
    return pieces


def _children(columns, count, pool):
    children = [Child(path, weight=fresh + 24 + 16) for path, fresh in _paths(columns[0], columns[1], count)]
    for child in children:
        child.reference = pool.read(columns[2])
        child.entries = columns[3].varint("entries below")
        child.total = columns[4].varint("bytes below")
        if child.entries == 0:
            columns[3].fail("a child without entries")
    refuse(sum(child.entries for child in children) > UNBOUNDED, f"{columns[3].what}: the entries exceed 64 bits in sum")
    return children


def _paths(lengths, texts, count):
    """Each path and how many of its bytes are not shared with the one before."""
    paths, before, expanded = [], b"", 0
    for i in range(count):
        shared, fresh = lengths.varint("shared bytes"), lengths.varint("bytes that follow")
        expanded += shared + fresh
        if expanded > limits.PAGE_PATHS:
            lengths.fail(f"paths of more than {limits.PAGE_PATHS} bytes in sum")
        if shared > len(before):
            lengths.fail(f"path {i} shares {shared} bytes with a path of {len(before)}")
        path = before[:shared] + texts.take(fresh, "path")
        check_path(path, texts)
        if i:
            if path_key(path) <= path_key(before):
                texts.fail(f"path {path!r} does not ascend")
            if shared < len(before) and shared < len(path) and path[shared] == before[shared]:
                lengths.fail(f"path {path!r} shares more bytes with the path before")
        paths.append((path, fresh))
        before = path
    return paths


def check_path(path, column):
    """Refuses what no path may be."""
    if len(path) > limits.PATH:
        column.fail(f"a path of {len(path)} bytes")
    if path and any(name in (b"", b".", b"..") for name in path.split(b"/")):
        column.fail(f"path {path!r} has an impossible name")
    if b"\0" in path:
        column.fail(f"path {path!r} holds a zero byte")


def _entries(columns, count, pool):
    entries = [Entry(path, weight=fresh + 16) for path, fresh in _paths(columns[0], columns[1], count)]
    for entry in entries:
        entry.mode = columns[2].varint("mode")
        if entry.mode > 0o177777 or stat.S_IFMT(entry.mode) not in TYPES:
            columns[2].fail(f"mode {entry.mode:o} has no known type")
    _owners(entries, columns[3], columns[4])
    _times(entries, columns)
    inode = 0
    for entry in entries:
        inode = (inode + columns[10].zigzag("inode")) % 2**64
        entry.inode = inode
        entry.size = columns[11].varint("size") if entry.is_file else 0
    _extras(entries, columns[14])
    for entry in entries:
        _check_extras(entry, columns[14])
        if entry.is_file:
            entry.content = _content(entry, columns[12], columns[13], pool)
        entry.weight += _extras_weight(entry) + _content_weight(entry)
    return entries


def _owners(entries, indices, table):
    owners = []
    while table.left():
        numbers = table.varint("uid"), table.varint("gid")
        names = tuple(table.take(table.varint("name length"), "name") for _ in range(2))
        if max(numbers) >= 2**32:
            table.fail(f"owner {numbers} exceeds 32 bits")
        if numbers + names in owners:
            table.fail(f"owner {numbers + names} is listed twice")
        owners.append(numbers + names)
    used = 0
    for entry in entries:
        index = indices.varint("owner")
        if index > used or index >= len(owners):
            indices.fail(f"owner {index} is used before its turn")
        used = max(used, index + 1)
        entry.owner = owners[index]
    if used != len(owners):
        table.fail(f"{used} of {len(owners)} owners are used")


def _times(entries, columns):
    _, _, _, _, _, ctimes, mtime_codes, mtimes, birth_codes, births = columns[:10]
    ctime = mtime = 0
    for entry in entries:
        ctime = signed64(ctime + ctimes.zigzag("ctime"))
        entry.ctime = ctime
        code = mtime_codes.u8("mtime code")
        entry.mtime = _mtime(code, ctime, mtime, mtime_codes, mtimes)
        first = 0 if entry.mtime == ctime else 1 if entry.mtime == mtime else 2 if entry.mtime % NANOS == 0 else 3
        if code != first:
            mtime_codes.fail(f"mtime code {code}, should be {first}")
        mtime = entry.mtime
        code = birth_codes.u8("birth code")
        entry.birth = _birth(code, entry, birth_codes, births)
        first = 0 if entry.birth is None else 1 if entry.birth == mtime else 2 if entry.birth == ctime else 3
        if code != first:
            birth_codes.fail(f"birth code {code}, should be {first}")


def _mtime(code, ctime, before, codes, column):
    if code == 0:
        return ctime
    if code == 1:
        return before
    if code > 3:
        codes.fail(f"mtime code {code} is unknown")
    seconds = before // NANOS + column.zigzag("mtime seconds")
    nanos = column.u32("mtime nanoseconds") if code == 3 else 0
    value = seconds * NANOS + nanos
    if nanos >= NANOS or not -(2**63) <= value < 2**63:
        column.fail(f"mtime of {seconds} s and {nanos} ns")
    return value


def _birth(code, entry, codes, column):
    if code == 3:
        return signed64(entry.ctime + column.zigzag("birth"))
    if code > 3:
        codes.fail(f"birth code {code} is unknown")
    return (None, entry.mtime, entry.ctime)[code]


def _extras(entries, column):
    at = 0
    while column.left():
        at += column.varint("entries passed over")
        if at >= len(entries):
            column.fail(f"extras of entry {at} of {len(entries)}")
        encoded = column.take(column.varint("length of extras"), "extras")
        found = decode_cbor(encoded, column.what)
        entries[at].extras = EXTRAS(found, f"{column.what}: extras of {entries[at].path!r}")
        if not found:
            column.fail(f"extras of {entries[at].path!r} are empty")
        at += 1


def _check_extras(entry, column):
    kind, extras = stat.S_IFMT(entry.mode), entry.extras
    required = {"target": kind == stat.S_IFLNK, "device": kind in (stat.S_IFBLK, stat.S_IFCHR)}
    for name, needed in required.items():
        if (name in extras) != needed:
            column.fail(f"{entry.path!r} of mode {entry.mode:o} {'lacks' if needed else 'has'} a {name}")
    if kind == stat.S_IFDIR and "hardlink" in extras:
        column.fail(f"directory {entry.path!r} is in a hard-link group")
    for name in ("xattrs", "holes"):
        if extras.get(name) == []:
            column.fail(f"{entry.path!r} has an empty list of {name}")
    names = [name for name, _ in extras.get("xattrs", [])]
    if names != sorted(set(names)) or b"" in names:
        column.fail(f"xattrs of {entry.path!r} do not ascend or have no name")
    if entry.holes() and not entry.is_file:
        column.fail(f"{entry.path!r} is no file and has holes")
    end = 0
    for offset, length in entry.holes():
        if offset < end or length == 0 or offset + length > entry.size:
            column.fail(f"hole of {length} bytes at {offset} in {entry.path!r}")
        end = offset + length


def _content(entry, column, inline, pool):
    code, length = column.varint("content code"), entry.content_length()
    if (code == 0) != (length == 0):
        column.fail(f"{entry.path!r} has {length} bytes and content {code}")
    if code == 0:
        return ("none",)
    if code == 1:
        if length > limits.INLINE:
            column.fail(f"{length} bytes of {entry.path!r} are inline")
        return "inline", inline.take(length, "inline bytes")
    if code == 2:
        count = column.varint("number of chunks")
        if not 1 <= count <= limits.FILE_CHUNKS:
            column.fail(f"{entry.path!r} has {count} chunks")
        pieces = [Piece(pool.read(column), column.varint("length of the chunk")) for _ in range(count)]
        if any(not 1 <= piece.length <= limits.CHUNK for piece in pieces):
            column.fail(f"a chunk of {entry.path!r} is empty or too long")
        if sum(piece.length for piece in pieces) != length:
            column.fail(f"the chunks of {entry.path!r} do not add up to {length}")
        return "chunks", pieces
    if code == 3:
        return "list", pool.read(column), column.u8("height")
    column.fail(f"content code {code} is unknown")


def _extras_weight(entry):
    named = sum(len(name) + len(value) for name, value in entry.extras.get("xattrs", []))
    return named + len(entry.extras.get("target", b""))


def _content_weight(entry):
    kind, *rest = entry.content
    if kind == "inline":
        return len(rest[0])
    if kind == "chunks":
        return 24 * len(rest[0])
    return 24 if kind == "list" else 0


TYPES = {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, stat.S_IFBLK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK}

EXTRAS = fields(
    {
        1: ("target", data(0, limits.PAGE), True),
        2: ("hardlink", U64, True),
        3: ("device", row(U32, U32), True),
        4: ("xattrs", array(row(data(0, limits.PAGE), data(0, limits.PAGE)), limits.PAGE), True),
        5: ("holes", array(row(U64, U64), limits.PAGE), True),
    }
)
