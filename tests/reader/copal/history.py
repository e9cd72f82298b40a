"""Who said what: the descriptor, clients, chains of manifests, changes and expiries, receipts, deletions."""

from .derive import label
from .ed25519 import verify
from .names import is_prunable
from .records import NO_HASH, POLICY
from .wire import Damage, decode_cbor, refuse


class History:
    """Checks the records of a repository against each other and against the owner's keys."""

    def __init__(self, contents):
        self.contents, self.owner = contents, contents.owner
        self.complaints = contents.complaints
        self.records = contents.records
        self.clients = {}
        """Client id → its newest record."""
        self.infos = {}
        """(client, number) → the opened description."""
        self._believed = {}

    def check(self):
        """Checks every record."""
        self._check_slots()
        self._check_descriptors()
        for client in sorted({client for client, _ in self.records["client"]}):
            with self.complaints.collect():
                self._check_client(client)
        for client in sorted({client for client, _ in self.records["manifest"]}):
            with self.complaints.collect():
                self._check_manifests(client)
        self._check_chain("change", self.records["change"])
        self._check_chain("expiry", self.records["expiry"])
        for change in self.records["change"].values():
            with self.complaints.collect():
                self._check_change(change)
        for expiry in self.records["expiry"].values():
            self._check_expiry(expiry)
        for receipt in self.records["receipt"].values():
            self._check_receipt(receipt)
        for deletion in self.records["deletion"].values():
            newest = max(self.records["root"], default=0)
            prunable = all(is_prunable(name.encode()) for name in deletion["objects"])
            self.complaints.check(prunable, f"{deletion.name}: names what no prune may delete")
            self.complaints.check(deletion["number"] <= newest, f"{deletion.name}: no root {deletion['number']} yet")

    def trusted(self):
        """The manifests that count, by client and number: of a revoked client those up to its last good one."""
        return {key: record for key, record in sorted(self.records["manifest"].items()) if self.is_good(record)}

    def believed_changes(self):
        """Number and record of the changes that count: in the chain, and signed by a full client."""
        return sorted(self._believed.items())

    def is_good(self, manifest):
        """Whether its client is known and no revocation is against it."""
        record = self.clients.get(manifest["client"])
        if record is None or not record.get("revoked"):
            return record is not None
        number, last = record["revoked"]
        return manifest["number"] < number or (manifest["number"], manifest.hash) == (number, last)

    def _check_slots(self):
        slots = self.contents.slots
        for name in slots:
            other = name[:-1] + ("b" if name.endswith("a") else "a")
            same = other in slots and slots[other][1] == slots[name][1]
            self.complaints.check(same, f"{name}: {other} is not its copy")

    def _check_descriptors(self):
        descriptors = self.records["descriptor"]
        self.complaints.check(descriptors, "there is no descriptor")
        self._check_numbers("descriptor", descriptors)
        for descriptor in descriptors.values():
            with self.complaints.collect():
                descriptor.verify(self.owner.public, self.owner.repository)
            for field, expected in (
                ("repository", self.owner.repository),
                ("owner_key", self.owner.public),
                ("kem_public", self.owner.kem.public),
            ):
                self.complaints.check(descriptor[field] == expected, f"{descriptor.name}: {field} is not the owner's")
            reader = descriptor.fields.get("reader")
            if reader is not None:
                there = f"reader/{reader.hex()}.wasm" in self.contents.names
                self.complaints.check(there, f"{descriptor.name}: its reader is not there")

    def _check_numbers(self, what, numbers):
        expected = list(range(1, len(numbers) + 1))
        self.complaints.check(sorted(numbers) == expected, f"{what}: numbers {sorted(numbers)} are not 1 to {len(numbers)}")

    def _check_client(self, client):
        versions = self.contents.by_client("client", client)
        self._check_numbers(f"client {client.hex()}", versions)
        before = None
        for record in versions.values():
            joined = record.get("manifest_key") is not None
            refuse((record.get("request_key") is not None) != joined, f"{record.name}: only one of the two keys")
            refuse((record.get("enrollment_key") is not None) == joined, f"{record.name}: enrollment key and keys do not agree")
            refuse(joined and record.get("expires") is not None, f"{record.name}: the end of no enrollment")
            if record["signed_by"] == "enrollment":
                self._check_joining(record, before)
            else:
                record.verify(self.owner.public, self.owner.repository)
            if record.get("revoked"):
                number, last = record["revoked"]
                refuse((number == 0) != (last == NO_HASH), f"{record.name}: revoked at {number} with {last.hex()}")
                good = self.records["manifest"].get((client, number))
                same = number == 0 or good is not None and good.hash == last
                self.complaints.check(same, f"{record.name}: manifest {number} is another one")
            if record.get("last_change"):
                refuse(not record.get("revoked"), f"{record.name}: a last change, and not revoked")
                number, last = record["last_change"]
                found = self.records["change"].get(number)
                same = found is not None and found.hash == last
                self.complaints.check(same, f"{record.name}: change {number} is another one")
            self.owner.open_text("client", client, record["sealed_name"], f"{record.name}: name")
            before = record
            self.clients[client] = record

    def _check_joining(self, record, before):
        refuse(record["version"] != 2 or before is None, f"{record.name}: signed by an enrollment key, but not version 2")
        key = before.get("enrollment_key")
        refuse(key is None or before.get("revoked"), f"{record.name}: version 1 is no open enrollment")
        record.verify(key, self.owner.repository)
        refuse(record.get("revoked"), f"{record.name}: signed by an enrollment key, and revoked")
        for field in ("client", "sealed_name", "role", "domain"):
            refuse(record[field] != before[field], f"{record.name}: {field} differs from the enrollment's")

    def _check_chain(self, kind, numbered):
        self._check_numbers(kind, numbered)
        before = NO_HASH
        for _, record in sorted(numbered.items()):
            self.complaints.check(
                record["previous"] == before, f"{record.name}: names {record['previous'].hex()} before it, not {before.hex()}"
            )
            before = record.hash

    def _check_manifests(self, client):
        manifests = self.contents.by_client("manifest", client)
        record = self.clients.get(client)
        refuse(record is None or record.get("manifest_key") is None, f"manifests of {client.hex()}, which has no key")
        trusted = {number: one for number, one in manifests.items() if self.is_good(one)}
        self._check_chain(f"manifests of {client.hex()}", trusted)
        for manifest in trusted.values():
            with self.complaints.collect():
                manifest.verify(record["manifest_key"], self.owner.repository)
                self._check_manifest(manifest, record)

    def _check_manifest(self, manifest, client):
        refuse(manifest["domain"] != client["domain"], f"{manifest.name}: names a domain that is not its client's")
        seen = manifest.get("root_seen")
        root = seen and self.records["root"].get(seen[0])
        refuse(root and root.hash != seen[1], f"{manifest.name}: root {seen and seen[0]} has another hash")
        if manifest.get("proven"):
            positions, proof = manifest["proven"]
            packs = [pack for pack, _ in manifest["packs"]]
            refuse(not 0 < positions < 1 << len(packs), f"{manifest.name}: proven packs are not among its own")
            proven = [pack for at, pack in enumerate(packs) if positions >> at & 1]
            self._check_proof(proven, proof, f"{manifest.name}: proven packs")
        if manifest.get("snapshot"):
            self._check_snapshot(manifest)

    def _check_snapshot(self, manifest):
        snapshot, info = manifest["snapshot"], self.contents.info(manifest)
        keys = self.owner.domain(manifest["domain"])
        source = keys.source_id(info["host"], info["paths"], info["label"])
        refuse(source != snapshot["source"], f"{manifest.name}: the source id should be {source.hex()}")
        tags = sorted(keys.tag_id(tag) for tag in info["tags"])
        refuse(tags != snapshot["tags"], f"{manifest.name}: the tag ids should be {[tag.hex() for tag in tags]}")
        self.infos[manifest["client"], manifest["number"]] = info
        self.contents.count("partial snapshot" if snapshot["partial"] else "snapshot")

    def _check_change(self, change):
        client = self.clients.get(change["client"])
        refuse(client is None or client.get("manifest_key") is None, f"{change.name}: its client has no key")
        refuse(client["role"] != "full", f"{change.name}: its client is not a full one")
        change.verify(client["manifest_key"], self.owner.repository)
        self._check_owner_signatures(change)
        before = self.records["change"].get(change["number"] - 1)
        last = (client.get("last_change") or [0])[0] if client.get("revoked") else 2**64
        if change["number"] <= last and change["previous"] == (before.hash if before else NO_HASH):
            self._believed[change["number"]] = change
        for operation in change["operations"]:
            if operation[0] == "tag":
                for tag, sealed in operation[2]:
                    self.owner.open_text("tag", tag, sealed, f"{change.name}: name of tag {tag.hex()}")

    def _check_owner_signatures(self, change):
        place = self.owner.repository + change["number"].to_bytes(8, "little") + change["previous"]
        for name, *rest in change["operations"]:
            if name == "owner_policy":
                verify(self.owner.public, label("owner-policy") + place + rest[0], rest[1], f"{change.name}: policy")
            elif name == "release":
                verify(self.owner.public, label("release") + place + b"".join(rest[0]), rest[1], f"{change.name}: release")
            elif name == "prove":
                self._check_proof(rest[0], rest[1], f"{change.name}: prove")
            elif name == "accept_loss":
                verify(self.owner.public, label("accept-loss") + place + _losses(*rest[:2]), rest[2], f"{change.name}: accept loss")

    def _check_proof(self, packs, proof, what):
        verify(self.owner.public, label("proof") + self.owner.repository + b"".join(packs), proof, what)

    def policy_in_force(self, last_change):
        """The number of the change that holds the policy in force after a change; 0 if there is none."""
        in_force, is_owners = 0, False
        for number, change in self.believed_changes():
            if number <= last_change:
                policy, is_owners = _policy(change, is_owners)
                in_force = number if policy else in_force
        return in_force

    def believed_expiries(self):
        """Expiries that may count: they name the policy in force after the last change they know."""
        return [expiry for _, expiry in sorted(self.records["expiry"].items())
                if self.policy_in_force(expiry["change"]) == expiry["policy"] and expiry["change"] in self._believed]

    def _check_expiry(self, expiry):
        policy = self.policy_in_force(expiry["change"])
        self.complaints.check(policy == expiry["policy"], f"{expiry.name}: change {policy} holds the policy in force")

    def _check_receipt(self, receipt):
        manifest = self.records["manifest"].get((receipt["client"], receipt["number"]))
        known = manifest is not None and manifest.hash == receipt["manifest"]
        what = manifest.name if manifest else "a manifest that is missing"
        self.complaints.check(known, f"{receipt.name}: it does not answer {what}")
        newest = max(self.records["root"], default=0)
        self.complaints.check(receipt["root"] <= newest, f"{receipt.name}: no root {receipt['root']} yet")


def _losses(manifests, changes):
    """What the owner signs of the losses that are accepted."""
    of_manifests = b"".join(client + number.to_bytes(8, "little") for client, number in manifests)
    return len(manifests).to_bytes(8, "little") + of_manifests + b"".join(number.to_bytes(8, "little") for number in changes)


def _policy(change, is_owners):
    """The policy that a change brings after one that the owner has signed or not, or None; and whether the owner has
    signed the one in force then."""
    found = None
    for name, *rest in change["operations"]:
        if name == "owner_policy" or name == "policy" and not is_owners:
            try:
                found = POLICY(decode_cbor(rest[0], change.name), change.name)
            except Damage:
                continue
            is_owners = name == "owner_policy"
    return found, is_owners
