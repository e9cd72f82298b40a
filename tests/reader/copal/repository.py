"""A repository in a directory: its objects by name, and the way in through a key slot."""

import mmap
import os
from pathlib import Path

from .names import UNCHECKED
from .slot import Slot, WrongSecret, decode_text
from .wire import Damage


class Repository:
    """The objects of a directory store."""

    def __init__(self, path):
        self.path = Path(path)

    def names(self, prefix=""):
        """The names of all objects that begin so, sorted; folders of unfinished and foreign things left out."""
        found = []
        for folder, folders, files in os.walk(self.path):
            for file in files:
                name = os.path.relpath(os.path.join(folder, file), self.path)
                if name.startswith(prefix) and not name.startswith(UNCHECKED):
                    found.append(name)
        return sorted(found)

    def read(self, name):
        """The bytes of an object; large ones are mapped."""
        try:
            with open(self.path / name, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size > MAPPED else file.read()
        except FileNotFoundError:
            raise Damage(f"{name} is missing") from None

    def slots(self):
        """The sound key slots; of each the first of its two copies that can be read."""
        slots = {}
        for name in self.names("keys/"):
            try:
                slots.setdefault(name.rsplit("/", 1)[0], Slot(self.read(name), name))
            except Damage:
                continue
        return list(slots.values())

    def open(self, password=None, recovery=None, key_file=None):
        """The owner, through whichever slot the given secret opens."""
        for slot in self.slots():
            try:
                if slot.fields["kind"] == "passphrase" and password is not None:
                    return slot.open_passphrase(password)
                if slot.fields["kind"] == "recovery" and recovery is not None:
                    return slot.open(decode_text("recovery", recovery))
                if slot.fields["kind"] == "key_file" and key_file is not None:
                    return slot.open(decode_text("key-file", key_file))
            except WrongSecret:
                continue
        raise WrongSecret("no key slot opens with this secret")


MAPPED = 1 << 16
