"""Reads every object of a repository and holds it against the document."""

from .chunker import Chunker
from .contents import Contents
from .history import History
from .ledger import Ledger
from .pages import DIRECTORY, ENTRIES
from .snapshots import check_states
from .tree import Rules, Tree
from .wire import Damage

PAGE_KINDS = {ENTRIES: "page of entries", DIRECTORY: "page of pages", 2: "content list", 3: "list of lists"}


class Verification:
    """Complaints, and counts by kind, of a whole repository."""

    def __init__(self, repository, owner):
        self.contents = Contents(repository, owner)
        self.complaints = self.contents.complaints
        self.history = History(self.contents)
        self.ledger = Ledger(self.contents, self.history)
        self.owner = owner
        self._checked = set()

    def run(self):
        """Checks everything; gives the complaints."""
        self.history.check()
        self._check_packs()
        self.ledger.check()
        if self.ledger.root is not None:
            self._check_trees()
        return self.complaints

    def counts(self):
        """How many things of each kind were read."""
        return dict(sorted(self.contents.found.items()))

    def _check_packs(self):
        seen = {}
        for name in self.contents.pack_names():
            pack = self.contents.packs.pack(name)
            for number, block in enumerate(pack.blocks):
                self.contents.count("block")
                place = f"{name}: block {number}"
                key = (pack.sessions[block.session], block.counter)
                first, stored = seen.setdefault(key, (place, pack.block(block)))
                self.complaints.check(stored == pack.block(block), f"{place} has the counter of another block, {first}")
            for *_, what in self.contents.read_pack(name):
                self.contents.count("chunk" if type(what) is bytes else PAGE_KINDS[what.kind])
        for manifest in self.history.trusted().values():
            snapshot = manifest.get("snapshot")
            key = snapshot and (snapshot["session_record"], snapshot["counter"])
            self.complaints.check(key not in seen, f"{manifest.name}: the counter of its info was used before")
            if key:
                seen[key] = (manifest.name, b"")

    def _check_trees(self):
        descriptor = self.contents.latest("descriptor")
        if descriptor is None:
            return
        library = self.ledger.library
        rules = Rules(library, self.owner, descriptor.fields)
        for snapshot in check_states(self.contents, self.history, self.ledger):
            tree = Tree(library, snapshot.manifest["domain"], snapshot.manifest["snapshot"]["root"])
            what = f"snapshot {snapshot.id.hex()}"
            try:
                entries = rules.check_tree(tree)
            except Damage as damage:
                self.complaints.append(f"{what}: {damage}")
                continue
            chunker = Chunker(descriptor["chunker"], self.owner.domain(tree.domain))
            for entry in entries:
                try:
                    self._check_file(tree, rules, entry, chunker, descriptor["inline_threshold"])
                except Damage as damage:
                    self.complaints.append(f"{what}: {entry.path!r}: {damage}")
            self._check_groups(entries, what)
            if not snapshot.partial:
                self._check_counts(entries, snapshot.info, what)

    def _check_file(self, tree, rules, entry, chunker, inline):
        kind = entry.content[0]
        if not entry.is_file or kind == "none":
            return
        self.complaints.check(
            (kind == "inline") == (entry.content_length() <= inline),
            f"{entry.path!r} of {entry.content_length()} bytes is {kind}, the threshold is {inline}",
        )
        if kind == "list":
            rules.check_list(tree, entry)
        pieces = tuple((piece.reference, piece.length) for piece in tree.pieces(entry))
        key = (tree.domain, pieces)
        if kind != "inline" and key not in self._checked:
            self._checked.add(key)
            self._check_cuts(tree, entry, chunker)
            self.contents.count("file content")

    def _check_cuts(self, tree, entry, chunker):
        """Cuts the content again; the window holds as much as the chunker looks at."""
        left, window, expected = entry.content_length(), b"", []
        chunks = tree.content(entry)
        lengths = [piece.length for piece in tree.pieces(entry)]
        for length in lengths:
            while len(window) < min(left, chunker.max):
                window += next(chunks)
            found = chunker.cut(memoryview(window))
            expected.append(found)
            if found != length:
                number = len(expected) - 1
                self.complaints.append(f"{entry.path!r}: chunk {number} has {length} bytes, should be cut after {found}")
                return
            window, left = window[length:], left - length

    def _check_groups(self, entries, what):
        groups = {}
        for entry in entries:
            if "hardlink" in entry.extras:
                group = entry.extras["hardlink"]
                content = (entry.size, str(entry.content), entry.holes())
                same = groups.setdefault(group, content) == content or not entry.is_file
                self.complaints.check(same, f"{what}: {entry.path!r} has another content than its group {group}")

    def _check_counts(self, entries, info, what):
        files = sum(1 for entry in entries if entry.is_file)
        folders = sum(1 for entry in entries if entry.mode & 0o170000 == 0o040000)
        size = sum(entry.size for entry in entries)
        expected = [files, folders, len(entries) - files - folders, size]
        self.complaints.check(info["counts"] == expected, f"{what}: counts {info['counts']}, the tree has {expected}")
