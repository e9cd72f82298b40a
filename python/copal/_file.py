"""Files of a snapshot as Python's own kind of file."""

import io


class File(io.RawIOBase):
    """A file of a snapshot. Each chunk is verified before its bytes are given out."""

    def __init__(self, reader):
        self._reader = reader

    @property
    def size(self):
        return self._reader.size

    def readable(self):
        return True

    def seekable(self):
        return True

    def readinto(self, buffer):
        self._check()
        view = memoryview(buffer).cast("B")
        data = self._reader.read(len(view))
        view[: len(data)] = data
        return len(data)

    def seek(self, offset, whence=io.SEEK_SET):
        self._check()
        return self._reader.seek(offset, whence)

    def _check(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")


def buffered(reader):
    """What `Snapshot.open` gives."""
    return io.BufferedReader(File(reader), 256 << 10)
