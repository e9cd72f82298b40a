"""Every object and field of a repository as JSON: bytes in hexadecimal, paths and names as text with surrogate escapes."""

import dataclasses
import os

from .contents import Contents
from .history import History
from .pages import Child, Entry, Page
from .snapshots import list_snapshots


def dump(repository, owner):
    """A structure of dictionaries, lists, texts, numbers and booleans."""
    contents = Contents(repository, owner)
    history = History(contents)
    history.check()
    return {
        "objects": {name: _object(contents, history, name) for name in contents.names},
        "owner": {"fingerprint": owner.fingerprint().hex(), "repository": owner.repository.hex()},
        "snapshots": plain([snapshot.description() for snapshot in list_snapshots(contents, history)]),
        "complaints": contents.complaints,
    }


def plain(value):
    """The value as JSON can hold it."""
    if isinstance(value, (Entry, Child)):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return plain({**fields, "path": os.fsdecode(value.path)})
    if isinstance(value, Page):
        return {"kind": value.kind, "references": plain(value.references), "items": plain(value.items)}
    if dataclasses.is_dataclass(value):
        return plain(dataclasses.asdict(value))
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {key.hex() if isinstance(key, bytes) else str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def _object(contents, history, name):
    for records in contents.records.values():
        for record in records.values():
            if record.name == name:
                return _record(contents, record)
    if name in contents.slots:
        slot = contents.slots[name][0]
        return plain({**slot.fields, "commitment": slot.commitment, "sealed": slot.sealed})
    if name.startswith("state/"):
        run = contents.runs.get(bytes.fromhex(name[6:]))
        return run and plain({"kind": run.kind, "domain": run.domain, "random": run.random, "records": run.records})
    if name.startswith("index/"):
        segment = contents.segments.get(bytes.fromhex(name[6:]))
        names = ("domain", "random", "packs", "blocks", "entries")
        return segment and plain({field: getattr(segment, field) for field in names})
    return _pack(contents, name) if name in contents.packs else None


def _record(contents, record):
    found = {"hash": record.hash, **record.fields, "signature": record.signature}
    owner = contents.owner
    if record.kind == "client":
        found["name"] = owner.open_text("client", record["client"], record["sealed_name"], record.name)
    if record.kind == "manifest" and record.get("snapshot"):
        snapshot = record["snapshot"]
        session = contents.packs.session(snapshot["session_record"], record["domain"], record.name)
        found["session"] = _session(session)
        found["info"] = contents.info(record)
    return plain(found)


def _session(session):
    names = ("id", "domain", "commitment", "recipients")
    return {name: getattr(session, name) for name in names}


def _pack(contents, name):
    pack = contents.packs.pack(name)
    blocks = [{**block._asdict(), "entries": plain(block.entries)} for block in pack.blocks]
    sessions = [_session(contents.packs.session(record, pack.domain, name)) for record in pack.sessions]
    for number, ordinal, _, what in contents.read_pack(name):
        entry = what if isinstance(what, Page) else {"length": len(what)}
        blocks[number].setdefault("contents", []).append(plain(entry))
    head = {"kind": pack.kind, "domain": pack.domain, "random": pack.random, "sessions": sessions}
    return plain({**head, "blocks": blocks})
