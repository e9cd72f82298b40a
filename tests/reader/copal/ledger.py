"""The state that roots name: runs, segments and packs, held against the objects themselves."""

from collections import defaultdict

from .library import Library
from .names import is_prunable
from .state import KEYS, LOST, OVERLAY, OVERLAY_RUNS, fold
from .wire import Damage


class Ledger:
    """Checks the roots, and what the newest of them says is stored."""

    def __init__(self, contents, history):
        self.contents, self.history = contents, history
        self.complaints = contents.complaints
        self.roots = contents.records["root"]
        self.root = contents.newest_root()
        self.library = Library(contents.packs, contents.owner)
        self.state = {}
        """Kind of run → key → standing value; the overlay's keys begin with the domain."""
        self.index = defaultdict(dict)
        """Domain → id → list of (pack's row, block's row, entry)."""

    def check(self):
        """Checks everything."""
        if self.root is None:
            self.complaints.append("there is no root")
            return
        for root in self.roots.values():
            self._check_root(root)
        self._fold()
        self._check_segments()
        self._check_packs()
        self._check_closure()
        self._check_overlay()
        self._check_doomed()
        self._check_heads()
        self._check_claims()

    def _check_claims(self):
        """Of an accepted manifest's packs those that are still there have the claimed length."""
        for key, manifest in self.history.trusted().items():
            receipt = self.contents.records["receipt"].get(key)
            for pack, length in manifest["packs"] if receipt and receipt["outcome"] == "accepted" else []:
                name = f"packs/{pack.hex()[:2]}/{pack.hex()}"
                if name in self.contents.packs:
                    found = len(self.contents.packs.pack(name).stored)
                    self.complaints.check(found == length, f"{manifest.name}: {name} has {found} bytes, not {length}")

    def _check_root(self, root):
        base = root.get("base")
        fresh = root["rebuilt"] or root["number"] == 1
        self.complaints.check((base is None) == fresh, f"{root.name}: base is {base}")
        if base:
            self.complaints.check(base[0] < root["number"], f"{root.name}: its base has number {base[0]}")
            found = self.roots.get(base[0])
            self.complaints.check(found is None or found.hash == base[1], f"{root.name}: its base has another hash")
        for field, kind in (("last_change", "change"), ("policy", "change"), ("last_expiry", "expiry")):
            named = root.get(field)
            found = named and self.contents.records[kind].get(named[0])
            self.complaints.check(not named or (found and found.hash == named[1]), f"{root.name}: {field} is {named}")
        last = (root.get("last_change") or [0])[0]
        policy = self.history.policy_in_force(last)
        named = (root.get("policy") or [0])[0]
        self.complaints.check(named == policy, f"{root.name}: names the policy of change {named}, not of {policy}")
        oldest = {}
        for kind, name, length, records in root["runs"]:
            run = self.contents.runs.get(name)
            if run is None:
                self.complaints.append(f"{root.name}: run {name.hex()} is missing or damaged")
                continue
            size = len(self.contents.repository.read(f"state/{name.hex()}"))
            found = (run.kind, size, run.count)
            self.complaints.check(found == (kind, length, records), f"{root.name}: run {name.hex()} is {found}")
            oldest[kind] = run
        overlays = self._overlays(root)
        for run in [*oldest.values(), *(runs[-1] for runs in overlays.values() if runs)]:
            removed = [key.hex() for key, value in run.records.items() if value is None]
            self.complaints.check(not removed, f"{root.name}: the oldest run {run.what} removes {removed}")

    def _runs(self, root, number):
        runs = [self.contents.runs.get(name) for _, name, _, _ in root["runs"]]
        return [run for run in runs if run is not None and run.number == number]

    def _overlays(self, root):
        """Domain → the runs of its overlay, the newest first."""
        named = fold(self._runs(root, OVERLAY_RUNS))
        overlays = defaultdict(list)
        for key, value in sorted(named.items(), key=lambda one: -one[1]["root"]):
            domain, name = key[:16], key[16:]
            run = self.contents.runs.get(name)
            if run is None:
                self.complaints.append(f"{root.name}: run {name.hex()} is missing or damaged")
                continue
            size = len(self.contents.repository.read(f"state/{name.hex()}"))
            found = (run.number, run.domain, size, run.count)
            expected = (OVERLAY, domain, value["length"], value["records"])
            self.complaints.check(found == expected, f"{root.name}: run {name.hex()} is {found}")
            self.complaints.check(value["root"] <= root["number"], f"{root.name}: run {name.hex()} is of root {value['root']}")
            overlays[domain].append(run)
        return overlays

    def _fold(self):
        self.state = defaultdict(dict, {number: fold(self._runs(self.root, number)) for number in KEYS})
        for domain, runs in self._overlays(self.root).items():
            for key, value in fold(runs).items():
                self.state[OVERLAY][domain + key] = value

    def _check_segments(self):
        for key, value in self.state[1].items():
            domain, name = key[:16], key[16:]
            segment = self.contents.segments.get(name)
            if segment is None:
                self.complaints.append(f"{self.root.name}: segment {name.hex()} is missing or damaged")
                continue
            size = len(self.contents.repository.read(segment.what))
            first, last = (segment.entries[0].id, segment.entries[-1].id) if segment.entries else (b"", b"")
            found = {"entries": len(segment.entries), "length": size, "first": first, "last": last}
            self.complaints.check(segment.domain == domain, f"{segment.what}: domain {segment.domain.hex()}")
            self.complaints.check(found == value, f"{segment.what} is {found}, {self.root.name} says {value}")
            self.library.add_segment(segment)
            for entry in segment.entries:
                pack, block, _ = segment.place(entry)
                self.index[domain].setdefault(entry.id, []).append((pack, block, entry))

    def _check_packs(self):
        indexed = {}
        for domain, ids in self.index.items():
            for places in ids.values():
                for pack, block, entry in places:
                    indexed.setdefault((domain, pack), []).append((block, entry))
        listed = {pack.id for _, pack in indexed}
        for (domain, pack), entries in indexed.items():
            self._check_pack_state(domain, pack)
            try:
                self._check_entries(domain, pack, entries)
            except Damage as damage:
                self.complaints.append(str(damage))
        for key, value in self.state[4].items():
            self.complaints.check(key in listed, f"{self.root.name}: pack {key.hex()} has a state, but no entry: {value}")

    def _check_pack_state(self, domain, pack):
        value = self.state[4].get(pack.id)
        if value is None:
            self.complaints.append(f"{self.root.name}: pack {pack.id.hex()} has entries, but no state")
            return
        expected = {"domain": domain, "kind": pack.kind, "length": pack.length, "place": pack.place}
        found = {name: value[name] for name in expected}
        self.complaints.check(found == expected, f"{self.root.name}: pack {pack.id.hex()} is {found}, segments say {expected}")

    def _check_entries(self, domain, row, entries):
        name = f"{row.place}/{row.id.hex()[:2]}/{row.id.hex()}"
        pack = self.contents.packs.pack(name)
        found = (pack.domain, pack.kind, len(pack.stored), pack.table_length)
        expected = (domain, row.kind, row.length, row.table_length)
        self.complaints.check(found == expected, f"{name} is {found}, its segment says {expected}")
        blocks = {block.offset: block for block in pack.blocks}
        for place, entry in entries:
            block = blocks.get(place.offset)
            if block is None or block.length != place.length or entry.ordinal >= len(block.entries):
                self.complaints.append(f"{name}: no block for {place} of entry {entry.id.hex()}")
                continue
            one = block.entries[entry.ordinal]
            found = (one.id, one.height) if pack.kind == "tree" else (one, 0)
            self.complaints.check(found == (entry.id, entry.height), f"{name}: {found} stands where the index has {entry}")

    def _check_closure(self):
        for domain, ids in self.index.items():
            lost = {key[16:40] for key, value in self.state[OVERLAY].items() if key[:16] == domain and value["bits"] & LOST}
            for page, places in ids.items():
                pack, block, entry = places[0]
                if not entry.is_page:
                    continue
                name = f"{pack.place}/{pack.id.hex()[:2]}/{pack.id.hex()}"
                if name not in self.contents.packs:
                    continue
                tables = [one for one in self.contents.packs.pack(name).blocks if one.offset == block.offset]
                for reference in tables[0].entries[entry.ordinal].references if tables else []:
                    known = reference in ids or reference in lost
                    self.complaints.check(known, f"{name}: page {page.hex()} refers to {reference.hex()}, which is not there")
                    heights = [one.height for _, _, one in ids.get(reference, [])]
                    low = all(height < entry.height for height in heights)
                    self.complaints.check(low, f"{name}: page {page.hex()} of height {entry.height} refers to heights {heights}")

    def _check_overlay(self):
        for key, value in self.state[OVERLAY].items():
            domain, chunk, tag = key[:16], key[16:40], key[40:]
            tags = [pack.id[:8] for pack, _, _ in self.index[domain].get(chunk, [])] or [bytes(8)]
            self.complaints.check(tag in tags, f"{self.root.name}: overlay of {chunk.hex()} names pack {tag.hex()}: {value}")

    def _check_doomed(self):
        for key, value in self.state[5].items():
            self.complaints.check(is_prunable(key), f"{self.root.name}: {key!r} is no name to delete")
            self.complaints.check(value["root"] <= self.root["number"], f"{self.root.name}: {key!r} is {value}")

    def _check_heads(self):
        receipts = self.contents.records["receipt"]
        for client, head in self.state[3].items():
            manifest = self.contents.records["manifest"].get((client, head["number"]))
            good = manifest is not None and manifest.hash == head["hash"]
            self.complaints.check(good, f"{self.root.name}: head of {client.hex()} is another manifest")
            for number, manifest_hash, outcome, reasons, missing, packs in head["decided"]:
                receipt = receipts.get((client, number))
                if receipt is None:
                    continue
                expected = [manifest_hash, outcome, reasons, missing, packs]
                found = [receipt[name] for name in ("manifest", "outcome", "reasons", "missing", "packs")]
                self.complaints.check(found == expected, f"{receipt.name}: {found}, the head says {expected}")

