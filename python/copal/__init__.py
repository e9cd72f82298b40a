"""Back up, list, read and restore with Copal.

    repository = copal.open("/srv/backups", password="correct horse battery staple")
    repository.backup(["/home/me/letters"])
    with repository.snapshot().open("home/me/letters/first.txt") as letter:
        print(letter.read())
"""

from ._copal import (
    CopalError,
    Damaged,
    Entries,
    Entry,
    Finding,
    Interrupted,
    NotFound,
    Refused,
    Repository,
    Restored,
    Saved,
    Snapshot,
    StoreFailed,
    WrongSecret,
    create,
    open,
    verify,
)
from ._file import File

__all__ = [
    "CopalError",
    "Damaged",
    "Entries",
    "Entry",
    "File",
    "Finding",
    "Interrupted",
    "NotFound",
    "Refused",
    "Repository",
    "Restored",
    "Saved",
    "Snapshot",
    "StoreFailed",
    "WrongSecret",
    "create",
    "open",
    "verify",
]
