"""A snapshot's entries as `tree.json` has them (see README.md)."""

import hashlib
import stat

from .restore import with_holes

TYPES = {
    stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink", stat.S_IFBLK: "block",
    stat.S_IFCHR: "char", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket",
}


def listing(tree):
    """All entries of a tree."""
    return [describe(tree, entry) for entry in tree.entries()]


def describe(tree, entry):
    """One entry."""
    uid, gid, user, group = entry.owner
    target = entry.extras.get("target")
    return {
        "path": text(entry.path),
        "type": TYPES[stat.S_IFMT(entry.mode)],
        "mode": stat.S_IMODE(entry.mode),
        "uid": uid,
        "gid": gid,
        "user": text(user),
        "group": text(group),
        "mtime_ns": entry.mtime,
        "size": entry.size,
        "sha256": digest(tree, entry) if entry.is_file else None,
        "link_target": None if target is None else text(target),
        "xattrs": {text(name): value.hex() for name, value in entry.extras.get("xattrs", [])},
        "holes": [list(hole) for hole in entry.holes()],
        "hardlink_group": entry.extras.get("hardlink"),
        "rdev": entry.extras.get("device"),
    }


def digest(tree, entry):
    """The SHA-256 of a file, holes read as zeros."""
    found, at = hashlib.sha256(), 0
    for offset, data in with_holes(entry, tree.content(entry)):
        _update_zeros(found, offset - at)
        found.update(data)
        at = offset + len(data)
    _update_zeros(found, entry.size - at)
    return found.hexdigest()


def text(encoded):
    """Bytes as text with surrogate escapes."""
    return encoded.decode("utf-8", "surrogateescape")


def _update_zeros(found, count):
    block = bytes(min(count, 1 << 20))
    while count > 0:
        found.update(block[:count])
        count -= len(block)
