"""Snapshots: listed from manifests, with what changes and expiries did to them."""

from dataclasses import dataclass


@dataclass
class Snapshot:
    """One complete backup (or, if partial, one on the way)."""

    id: bytes
    key: tuple
    manifest: object
    info: dict
    tags: list
    accepted: int | None = None
    by_full_client: bool = False
    forgotten: bool = False
    pinned: bool = False

    @property
    def partial(self):
        """Whether more was to come."""
        return self.manifest["snapshot"]["partial"]

    @property
    def time(self):
        """The client's time."""
        return self.manifest["snapshot"]["client_time"]

    @property
    def age(self):
        """What snapshots are ordered by. No client's clock makes one the newest; what nobody has accepted is the oldest."""
        if self.accepted is None:
            return (0, self.time, self.id)
        time = min(self.time, self.accepted) if self.by_full_client else self.accepted
        return (1, time, self.time, self.accepted, self.id)

    def description(self):
        """What a list shows."""
        return {
            "id": self.id, "client": self.key[0], "number": self.key[1], "time": self.time, "partial": self.partial,
            "root": self.manifest["snapshot"]["root"], "domain": self.manifest["domain"], "tags": self.tags,
            "forgotten": self.forgotten, "pinned": self.pinned, "info": self.info,
        }


def list_snapshots(contents, history, last_change=2**64):
    """All snapshots that trusted and not rejected manifests made, oldest first, after changes up to a number."""
    by_id = {}
    for key, manifest in history.trusted().items():
        receipt = contents.records["receipt"].get(key)
        rejected = receipt is not None and receipt["outcome"] == "rejected"
        if manifest.get("snapshot") and not rejected and key in history.infos:
            snapshot = Snapshot(manifest.hash[:16], key, manifest, history.infos[key], list(manifest["snapshot"]["tags"]))
            snapshot.accepted = receipt and receipt["time"]
            snapshot.by_full_client = history.clients[key[0]]["role"] == "full"
            by_id[snapshot.id] = snapshot
    expiries = history.believed_expiries()
    for number, change in history.believed_changes():
        for operation in change["operations"] if number <= last_change else []:
            _apply(operation, by_id)
        for expiry in expiries if number <= last_change else []:
            if expiry["change"] == number:
                _apply(("forget", expiry["snapshots"]), by_id)
    return sorted(by_id.values(), key=lambda snapshot: snapshot.age)


def latest(snapshots):
    """The newest snapshot of each client that is whole and kept: who signed it decides whose latest it is."""
    kept = [snapshot for snapshot in snapshots if not snapshot.partial and not snapshot.forgotten]
    return {snapshot.key[0]: snapshot for snapshot in kept}


def check_states(contents, history, ledger):
    """Holds the snapshots against what the newest root says of them; gives those whose trees must be there."""
    complaints, root = contents.complaints, ledger.root
    folded = root.get("last_change")
    snapshots = list_snapshots(contents, history, folded[0] if folded else 0)
    by_key = {snapshot.key[0] + snapshot.key[1].to_bytes(8, "big"): snapshot for snapshot in snapshots}
    for key, value in ledger.state[2].items():
        snapshot = by_key.get(key)
        if snapshot is None:
            complaints.append(f"{root.name}: snapshot {key.hex()} has no manifest that counts")
            continue
        _check_state(root, snapshot, value, history, complaints)
    kept = []
    for key, snapshot in by_key.items():
        value = ledger.state[2].get(key)
        if value is not None and value["state"] == "kept":
            kept.append(snapshot)
        head = ledger.state[3].get(snapshot.key[0])
        decided = head is not None and head["number"] >= snapshot.key[1]
        complaints.check(value is not None or not decided, f"{root.name}: snapshot {snapshot.id.hex()} has no state")
    return kept


def _check_state(root, snapshot, value, history, complaints):
    claim, client = snapshot.manifest["snapshot"], history.clients[snapshot.key[0]]
    expected = {
        "snapshot": snapshot.id, "domain": snapshot.manifest["domain"], "root": claim["root"], "partial": claim["partial"],
        "client_time": claim["client_time"], "source": claim["source"], "by_full_client": client["role"] == "full",
    }
    expected |= {"tags": snapshot.tags, "pinned": snapshot.pinned}
    found = {name: value[name] for name in expected}
    complaints.check(found == expected, f"{root.name}: snapshot {snapshot.id.hex()} is {found}, should be {expected}")
    if not snapshot.partial:
        agrees = (value["state"] == "kept") != snapshot.forgotten or value["state"] == "gone"
        complaints.check(agrees, f"{root.name}: snapshot {snapshot.id.hex()} is {value['state']}, forgotten: {snapshot.forgotten}")


def _apply(operation, by_id):
    name, *arguments = operation
    if name in ("policy", "owner_policy", "release", "prove", "accept_loss"):
        return
    for snapshot in (by_id[one] for one in arguments[0] if one in by_id):
        if name == "forget":
            snapshot.forgotten |= not snapshot.pinned
        elif name == "undelete":
            snapshot.forgotten = False
        elif name in ("pin", "unpin"):
            snapshot.pinned = name == "pin"
        else:
            kept = set(snapshot.tags) - set(arguments[2])
            snapshot.tags = sorted(kept | {tag for tag, _ in arguments[1]})
