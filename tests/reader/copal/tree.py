"""Trees and content lists: walks, and the rules that hold across pages (format §10)."""

from .pages import DIRECTORY, ENTRIES, LIST, LISTS, UNBOUNDED, path_key
from .wire import refuse


class Tree:
    """A snapshot's tree, read from a library."""

    def __init__(self, library, domain, root):
        self.library, self.domain, self.root = library, domain, root

    def entries(self):
        """All entries in the tree's order."""
        for page in self.levels()[0]:
            yield from page.items

    def levels(self):
        """The pages of each level, from the leaves up, each in order."""
        return self._levels(self.root, ENTRIES, DIRECTORY)

    def pieces(self, entry):
        """The chunks of a file in order; of an inline file there are none."""
        kind, *rest = entry.content
        if kind == "chunks":
            return rest[0]
        if kind == "list":
            return [piece for page in self.list_levels(rest[0])[0] for piece in page.items]
        return []

    def list_levels(self, root):
        """The pages of a content list, from the lowest level up."""
        return self._levels(root, LIST, LISTS)

    def content(self, entry):
        """A file's bytes without its holes, in parts."""
        if entry.content[0] == "inline":
            yield entry.content[1]
        for piece in self.pieces(entry):
            chunk = self.library.chunk(self.domain, piece.reference)
            refuse(len(chunk) != piece.length, f"{entry.path!r}: a chunk of {len(chunk)} bytes, should be {piece.length}")
            yield chunk

    def _levels(self, root, lowest, above):
        pages, height = self.library.page(self.domain, root)
        levels, heights = [[pages]], [height]
        while levels[0][0].kind != lowest:
            kinds = {page.kind for page in levels[0]}
            refuse(kinds != {above}, f"page {root.hex()}: kinds {sorted(kinds)} on one level")
            below = [self.library.page(self.domain, item.reference) for page in levels[0] for item in page.items]
            refuse(not below, f"page {root.hex()}: a page of pages without items")
            refuse(max(height for _, height in below) >= max(heights), f"page {root.hex()}: heights do not fall")
            uneven = above == LISTS and {height + 1 for _, height in below} != set(heights)
            refuse(uneven, f"page {root.hex()}: a list whose pages are not one lower than those above")
            levels.insert(0, [page for page, _ in below])
            heights = [height for _, height in below]
        refuse({page.kind for page in levels[0]} != {lowest}, f"page {root.hex()}: leaves of different kinds")
        return levels


class Rules:
    """Checks everything of a tree that more than one page decides."""

    def __init__(self, library, owner, parameters):
        self.library, self.owner = library, owner
        self.pages = parameters["pages"]

    def check_tree(self, tree):
        """Order, sums, last paths, heights and cuts of a tree's pages; gives its entries."""
        levels = tree.levels()
        what = f"tree {tree.root.hex()}"
        self._check_cuts(tree.domain, levels, what, lambda item: item.path)
        self._check_heights(tree, what)
        entries = [entry for page in levels[0] for entry in page.items]
        for one, following in zip(entries, entries[1:]):
            refuse(path_key(one.path) >= path_key(following.path), f"{what}: {following.path!r} does not ascend")
        for below, above in zip(levels, levels[1:]):
            children = [child for page in above for child in page.items]
            for page, child in zip(below, children):
                self._check_child(page, child, what)
        return entries

    def check_list(self, tree, entry):
        """Sums, height and cuts of a long file's content list."""
        root, height = entry.content[1:]
        what = f"list {root.hex()} of {entry.path!r}"
        levels = tree.list_levels(root)
        _, found = self.library.page(tree.domain, root)
        refuse(found != height, f"{what}: the entry says height {height}, the page has {found}")
        self._check_cuts(tree.domain, levels, what, lambda item: item.reference)
        for below, above in zip(levels, levels[1:]):
            pieces = [piece for page in above for piece in page.items]
            for page, piece in zip(below, pieces):
                total = sum(item.length for item in page.items)
                refuse(total != piece.length, f"{what}: {total} bytes below {piece.reference.hex()}, not {piece.length}")
        pieces = [piece for page in levels[0] for piece in page.items]
        refuse(len(pieces) <= 64, f"{what}: only {len(pieces)} chunks")
        total = sum(piece.length for piece in pieces)
        refuse(total != entry.content_length(), f"{what}: {total} bytes, the file has {entry.content_length()}")

    def _check_child(self, page, child, what):
        last = page.items[-1].path if page.items else None
        refuse(last != child.path, f"{what}: child {child.reference.hex()} ends with {last!r}, not {child.path!r}")
        if page.kind == ENTRIES:
            entries, total = len(page.items), sum(entry.size for entry in page.items)
        else:
            entries, total = sum(item.entries for item in page.items), sum(item.total for item in page.items)
        total = min(total, UNBOUNDED)
        found = child.entries, child.total
        refuse(found != (entries, total), f"{what}: child {child.reference.hex()} says {found}, is {(entries, total)}")

    def _check_cuts(self, domain, levels, what, key):
        refuse(any(len(pages) == 1 for pages in levels[:-1]), f"{what}: a level too many")
        keys = self.owner.domain(domain)
        for level, pages in enumerate(levels):
            fanout = self.pages["inner_fanout"] if level else self.pages["leaf_fanout"]
            for number, page in enumerate(pages):
                where = f"{what}: level {level} page {number}"
                empty_root = len(levels) == 1 and page.kind == ENTRIES
                refuse(not page.items and not empty_root, f"{where} has no items")
                ends = self._ends(keys, level, page, (1 << 64) // fanout, key)
                at = ends[0] if ends else None
                last = len(page.items)
                early = at is not None and at < last
                refuse(early, f"{where} of {last} items should have been closed after {at}")
                refuse(at != last and number < len(pages) - 1, f"{where} is closed after {last} items without reason")

    def _ends(self, keys, level, page, threshold, key):
        """After which items (counted from 1) the rule would close the page."""
        size, ends = 0, []
        for count, item in enumerate(page.items, 1):
            size += item.weight
            bounded = size >= self.pages["min"] and keys.boundary(level, key(item)) < threshold
            if (bounded or size >= self.pages["max"]) and (level == 0 or count >= 2):
                ends.append(count)
        return ends

    def _check_heights(self, tree, what, page_id=None, seen=None):
        seen = {} if seen is None else seen
        page_id = page_id or tree.root
        if page_id not in seen:
            page, height = self.library.page(tree.domain, page_id)
            below = [0]
            for reference in page.references:
                if self.library.is_page(tree.domain, reference):
                    below.append(self._check_heights(tree, what, reference, seen))
            refuse(height != 1 + max(below), f"{what}: page {page_id.hex()} has height {height}, should be {1 + max(below)}")
            seen[page_id] = height
        return seen[page_id]
