#!/usr/bin/env python3
"""Reads a Copal repository by docs/format.md alone: restores, lists, verifies or prints it."""

import argparse
import json
import sys

from copal.contents import Contents
from copal.dump import dump, plain
from copal.history import History
from copal.ledger import Ledger
from copal.repository import Repository
from copal.restore import Restore
from copal.slot import WrongSecret
from copal.snapshots import latest, list_snapshots
from copal.tree import Tree
from copal.verify import Verification
from copal.wire import Damage


def main():
    """Does what the command line says; gives the exit code."""
    arguments = parse_arguments()
    repository = Repository(arguments.repository)
    try:
        owner = repository.open(arguments.password, arguments.recovery_code, arguments.key_file and read_text(arguments.key_file))
        if arguments.verify:
            return verify(repository, owner)
        if arguments.dump:
            print(json.dumps(dump(repository, owner), indent=1))
            return 0
        return list_or_restore(arguments, repository, owner)
    except (Damage, WrongSecret, OSError) as error:
        print(error, file=sys.stderr)
        return 1


def verify(repository, owner):
    """Prints counts by kind and all complaints."""
    verification = Verification(repository, owner)
    complaints = verification.run()
    for kind, count in verification.counts().items():
        print(f"{count:8} {kind}")
    for complaint in complaints:
        print(f"complaint: {complaint}")
    print(f"{len(complaints)} complaints")
    return 1 if complaints else 0


def list_or_restore(arguments, repository, owner):
    """Prints the snapshots, or restores one."""
    contents = Contents(repository, owner)
    history = History(contents)
    history.check()
    ledger = Ledger(contents, history)
    ledger.check()
    for complaint in contents.complaints:
        print(f"complaint: {complaint}", file=sys.stderr)
    snapshots = list_snapshots(contents, history)
    if arguments.list:
        for snapshot in snapshots:
            print(json.dumps(plain(snapshot.description())))
        return 0
    snapshot = choose(snapshots, arguments.snapshot)
    restore = Restore(Tree(ledger.library, snapshot.manifest["domain"], snapshot.manifest["snapshot"]["root"]), arguments.target)
    restore.run()
    for failure in restore.failures:
        print(failure, file=sys.stderr)
    return 1 if restore.failures else 0


def choose(snapshots, digits):
    """The snapshot whose id begins with the digits; without digits the latest, if only one client has any."""
    found = [one for one in snapshots if one.id.hex().startswith(digits)] if digits else list(latest(snapshots).values())
    if len(found) != 1:
        ids = ", ".join(one.id.hex() for one in found)
        raise Damage(f"{len(found)} snapshots begin with {digits}" if digits else f"name one of the clients' latest: {ids}")
    return found[0]


def read_text(path):
    """A small file's text."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", help="directory of the repository")
    parser.add_argument("target", nargs="?", help="directory to restore into")
    parser.add_argument("--password", help="passphrase")
    parser.add_argument("--recovery-code", help="recovery code instead of a passphrase")
    parser.add_argument("--key-file", help="key file instead of a passphrase")
    parser.add_argument("--snapshot", help="first digits of a snapshot's id [default: the latest]")
    parser.add_argument("--list", action="store_true", help="list the snapshots, a JSON object a line")
    parser.add_argument("--verify", action="store_true", help="read every object and check it against the format")
    parser.add_argument("--dump", action="store_true", help="print every object and field as JSON")
    arguments = parser.parse_intermixed_args()
    chosen = sum(map(bool, (arguments.target, arguments.list, arguments.verify, arguments.dump)))
    if chosen != 1:
        parser.error("give one of TARGET, --list, --verify and --dump")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
