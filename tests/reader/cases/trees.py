"""Pages, trees and content lists (format §10) against `golden/tree-*.txt`."""

import unittest

from copal.derive import kdf
from copal.domain import Domain
from copal.pages import DIRECTORY, ENTRIES, LIST, LISTS, Entry, _check_extras, decode_page
from copal.tree import Rules, Tree
from copal.wire import Cursor, Damage

from .vectors import pages


def keys():
    """The domain of the vectors."""
    return Domain(kdf(b"\5" * 32, "domain", b"\1" * 16, b"\2" * 16))


class Shelf:
    """Pages of one file, as a library and an owner."""

    def __init__(self, file):
        self.pages = {}
        for page, height, references, plaintext in pages(file):
            if keys().page_id(height, references, plaintext) != page:
                raise Damage(f"page {page.hex()} has another id")
            self.pages[page] = (decode_page(plaintext, height, references, page.hex()), height)
        self.root = page

    def page(self, _, page):
        """A page and its height."""
        return self.pages[page]

    def is_page(self, _, page):
        """Whether the id is that of a page."""
        return page in self.pages

    def domain(self, _):
        """The keys of the only domain."""
        return keys()

    def rules(self, leaf_fanout, inner_fanout, low, high):
        """The rules with these parameters."""
        return Rules(self, self, {"pages": {"leaf_fanout": leaf_fanout, "inner_fanout": inner_fanout, "min": low, "max": high}})


class Trees(unittest.TestCase):
    """Decoding, and the rules across pages."""

    def test_pages_of_entries_and_of_pages(self):
        shelf = Shelf("tree-directories.txt")
        entries = shelf.rules(2, 2, 0, 1).check_tree(Tree(shelf, b"", shelf.root))
        self.assertEqual([entry.path for entry in entries], [b"a", b"a/b", b"a/c"])
        self.assertEqual({page.kind for page, _ in shelf.pages.values()}, {ENTRIES, DIRECTORY})

    def test_other_parameters_would_cut_elsewhere(self):
        shelf = Shelf("tree-directories.txt")
        with self.assertRaisesRegex(Damage, "without reason"):
            shelf.rules(2, 2, 1000, 1000).check_tree(Tree(shelf, b"", shelf.root))

    def test_content_lists(self):
        shelf = Shelf("tree-lists.txt")
        tree = Tree(shelf, b"", shelf.root)
        levels = tree.list_levels(shelf.root)
        pieces = [(piece.reference[0], piece.length) for page in levels[0] for piece in page.items]
        self.assertEqual(pieces, [(1, 1000), (2, 2000), (1, 1000), (1, 1000), (3, 16 << 20)])
        self.assertEqual({page.kind for page, _ in shelf.pages.values()}, {LIST, LISTS})
        size = sum(length for _, length in pieces)
        file = Entry(b"file", mode=0o100644, size=size, content=("list", shelf.root, shelf.page(b"", shelf.root)[1]))
        with self.assertRaisesRegex(Damage, "only 5 chunks"):
            shelf.rules(2, 2, 80, 80).check_list(tree, file)
        with self.assertRaisesRegex(Damage, "closed"):
            shelf.rules(2, 2, 40, 40).check_list(tree, file)

    def test_empty_tree(self):
        shelf = Shelf("tree-empty.txt")
        self.assertEqual(shelf.rules(2, 2, 0, 1).check_tree(Tree(shelf, b"", shelf.root)), [])

    def test_a_page_of_every_oddity(self):
        shelf = Shelf("tree-entries.txt")
        by_path = {entry.path: entry for entry in Tree(shelf, b"", shelf.root).entries()}
        order = [b"", b"dev/b", b"dev/c", b"fifo", b"file-inline", b"file-none", b"file-pieces", b"file-wide", b"l\xffnk", b"socket"]
        self.assertEqual(list(by_path), order)
        self.assertEqual(by_path[b""].birth, 0)
        self.assertEqual(by_path[b"dev/c"].extras["device"], [1, 300])
        self.assertEqual((by_path[b"fifo"].mtime, by_path[b"fifo"].ctime), (-1, -(2**63)))
        self.assertEqual(by_path[b"file-inline"].content, ("inline", b"hello"))
        pieces = by_path[b"file-pieces"]
        self.assertEqual([(piece.reference[0], piece.length) for piece in pieces.content[1]], [(1, 300), (2, 100), (1, 300)])
        self.assertEqual(pieces.holes(), [[0, 4096], [4796, 4096]])
        self.assertEqual(pieces.extras["xattrs"], [[b"user.a", b"1"], [b"user.b", b""]])
        self.assertEqual(by_path[b"file-wide"].content, ("list", b"\3" * 24, 2))
        self.assertEqual(by_path[b"l\xffnk"].extras["target"], b"../\xff")
        self.assertEqual(by_path[b"l\xffnk"].owner, (0, 0, b"", b""))
        self.assertEqual(by_path[b"socket"].inode, 2**64 - 1)

    def test_a_directory_has_one_name(self):
        shelf = Shelf("tree-entries.txt")
        directory = Tree(shelf, b"", shelf.root).entries().__next__()
        directory.extras = {"hardlink": 5}
        with self.assertRaisesRegex(Damage, "hard-link group"):
            _check_extras(directory, Cursor(b"", "column"))

    def test_a_list_is_one_lower_than_what_refers_to_it(self):
        shelf = Shelf("tree-lists.txt")
        page, height = shelf.pages[shelf.root]
        shelf.pages[shelf.root] = (page, height + 1)
        with self.assertRaisesRegex(Damage, "not one lower"):
            Tree(shelf, b"", shelf.root).list_levels(shelf.root)

    def test_no_changed_byte_of_a_page_goes_unnoticed(self):
        for file in ("tree-directories.txt", "tree-entries.txt", "tree-lists.txt"):
            for page, height, references, plaintext in pages(file):
                for at in range(len(plaintext)):
                    changed = plaintext[:at] + bytes([plaintext[at] ^ 1]) + plaintext[at + 1 :]
                    self.assertNotEqual(keys().page_id(height, references, changed), page)
                    try:
                        decode_page(changed, height, references, "page")
                    except Damage:
                        continue
