"""The keys of a domain: ids, gear table, boundaries (format §4.1)."""

from .derive import kdf, keyed, u32
from .wire import encode_cbor


class Domain:
    """Clients of one domain compute the same ids and cut at the same places."""

    def __init__(self, key):
        self._chunk = kdf(key, "chunk-id")
        self._page = kdf(key, "page-id")
        self._boundary = kdf(key, "page-boundary")
        self._source = kdf(key, "source")
        self._tag = kdf(key, "tag")
        table = keyed(kdf(key, "gear"), b"", 2048)
        self.gear = [int.from_bytes(table[i : i + 8], "little") for i in range(0, 2048, 8)]
        self.choice = kdf(key, "cut")

    def chunk_id(self, plaintext):
        """The id of a chunk."""
        return keyed(self._chunk, plaintext, 24)

    def page_id(self, height, references, plaintext):
        """The id of a page: it covers height, references and plaintext."""
        head = bytes([height]) + u32(len(references)) + b"".join(references)
        return keyed(self._page, head + plaintext, 24)

    def boundary(self, level, key):
        """The value that decides whether a page ends after an item."""
        return int.from_bytes(keyed(self._boundary, bytes([level]) + key, 8), "little")

    def source_id(self, host, paths, name):
        """The id of a source."""
        return keyed(self._source, encode_cbor([host, sorted(paths), name]), 16)

    def tag_id(self, name):
        """The id of a tag."""
        return keyed(self._tag, name.encode(), 16)
