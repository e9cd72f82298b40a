"""Writes a snapshot's entries into a directory."""

import errno
import os
import stat

from .wire import Damage, refuse


class Restore:
    """Restores a tree below a target directory; what cannot be done is noted in `failures`."""

    def __init__(self, tree, target):
        self.tree, self.target = tree, os.fsencode(target)
        self.failures = []
        self._groups = {}

    def run(self):
        """Writes everything, contents first and directories' attributes last."""
        os.makedirs(self.target, exist_ok=True)
        folders, leaf = [], None
        for entry in self.tree.entries():
            if leaf is not None and entry.path.startswith(leaf + b"/"):
                self.failures.append(f"{os.fsdecode(entry.path)}: it lies below what is no directory")
                continue
            if not stat.S_ISDIR(entry.mode):
                leaf = entry.path
            path = os.path.join(self.target, entry.path) if entry.path else self.target
            try:
                self._make(entry, path)
                if stat.S_ISDIR(entry.mode):
                    folders.append((entry, path))
                else:
                    self._attributes(entry, path)
            except (OSError, Damage) as error:
                self.failures.append(f"{os.fsdecode(entry.path)}: {error}")
        for entry, path in reversed(folders):
            try:
                self._attributes(entry, path)
            except OSError as error:
                self.failures.append(f"{os.fsdecode(entry.path)}: {error}")

    def _make(self, entry, path):
        if entry.path:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        identity = identity_of(entry)
        if identity is not None and identity in self._groups:
            os.link(self._groups[identity], path, follow_symlinks=False)
            return
        kind = stat.S_IFMT(entry.mode)
        if kind == stat.S_IFDIR:
            os.makedirs(path, exist_ok=True)
        elif kind == stat.S_IFREG:
            self._write(entry, path)
        elif kind == stat.S_IFLNK:
            os.symlink(entry.extras["target"], path)
        else:
            os.mknod(path, kind | 0o600, os.makedev(*entry.extras.get("device", (0, 0))))
        if identity is not None:
            self._groups[identity] = path

    def _write(self, entry, path):
        content = self.tree.content(entry)
        with open(path, "xb") as file:
            for offset, data in with_holes(entry, content):
                file.seek(offset)
                file.write(data)
            file.truncate(entry.size)

    def _attributes(self, entry, path):
        link = stat.S_ISLNK(entry.mode)
        if os.geteuid() == 0:
            os.chown(path, entry.owner[0], entry.owner[1], follow_symlinks=False)
        for name, value in entry.extras.get("xattrs", []):
            try:
                os.setxattr(path, name, value, follow_symlinks=False)
            except OSError as error:
                if error.errno not in (errno.ENOTSUP, errno.EPERM):
                    raise
                self.failures.append(f"{os.fsdecode(entry.path)}: xattr {os.fsdecode(name)}: {error.strerror}")
        if not link:
            os.chmod(path, stat.S_IMODE(entry.mode))
        os.utime(path, ns=(entry.mtime, entry.mtime), follow_symlinks=False)


def identity_of(entry):
    """What the names of one file have in common; None if it has one name only."""
    group = entry.extras.get("hardlink")
    if group is None:
        return None
    target, device = entry.extras.get("target"), entry.extras.get("device")
    return group, entry.mode, entry.size, entry.mtime, target, str(device), str(entry.content)


def with_holes(entry, content):
    """The parts of a file's content with their offsets in the file, holes passed over."""
    holes, offset = list(entry.holes()), 0
    for data in content:
        while data:
            while holes and holes[0][0] == offset:
                offset += holes.pop(0)[1]
            room = holes[0][0] - offset if holes else len(data)
            part, data = data[:room], data[room:]
            yield offset, part
            offset += len(part)
    while holes and holes[0][0] == offset:
        offset += holes.pop(0)[1]
    refuse(holes or offset != entry.size, f"{entry.path!r}: content ends at {offset}, the size is {entry.size}")
