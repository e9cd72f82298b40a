// What the module for administration does beside the one that every browser loads: node administration.mjs <pkg> <golden report>
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { start, startAdministration } from "./engine.mjs";
import { givenOf } from "./session.mjs";

const [pkg, golden] = process.argv.slice(2);
const given = givenOf(readFileSync(golden, "utf8"));
const [{ copal: page, memory }, { copal: desk, memory: own }] = [await start(pkg), await startAdministration(pkg)];

// The page's module makes a passphrase slow; the other opens the slot with what came of it, in a memory of its own.
assert.notEqual(memory, own);
const stretched = page.Owner.stretch(given.slot, "correct horse battery staple");
const owner = desk.Owner.openStretched(given.slot, stretched);
const descriptor = new desk.Descriptor(1, given.descriptor);
owner.check(descriptor);
assert.throws(() => desk.Owner.openStretched(given.slot, page.Owner.stretch(given.slot, "another")), { code: "wrong-passphrase" });
assert.deepEqual(desk.Owner.slotsToTry([given.slot, given.slot], descriptor.facts.repository, true), { tries: [0], isDamaged: false, isCostly: false });
const request = { method: "DELETE", url: "https://backup.example/v1/objects/keys/a", sha256: new Uint8Array(32), created: 1, expires: 2, nonce: new Uint8Array(16) };
assert.deepEqual(owner.signRequest(request), page.Owner.openStretched(given.slot, stretched).signRequest(request));
assert(own.buffer.byteLength < 2 << 20, "Argon2 takes none of it");

// A new passphrase: the page's module stretches it for the draft of a slot, and opens what the other has sealed.
const other = "gru\u0308n im Winter";
const slot = owner.newSlot(true, 1_790_000_000_000, new Uint8Array(44).fill(3));
const { keys, bytes } = owner.sealSlot(slot, page.Owner.stretch(slot.unsealed(), other));
assert.deepEqual(keys, [`keys/${slot.id}/a`, `keys/${slot.id}/b`]);
page.Owner.open(bytes, other.normalize("NFC")).check(new page.Descriptor(1, given.descriptor));
assert.throws(() => page.Owner.openStretched(slot.unsealed(), page.Owner.stretch(slot.unsealed(), other)), { code: "wrong-passphrase" }, "a draft opens with nothing");

// A recovery code: what it is made of is never stored.
const code = desk.recoveryCode(new Uint8Array(32).fill(4));
const paper = owner.newSlot(false, 1_790_000_000_001, new Uint8Array(44).fill(5));
const coded = owner.sealRecoverySlot(paper, code);
page.Owner.openWithRecoveryCode(coded.bytes, code.toLowerCase()).check(new page.Descriptor(1, given.descriptor));
assert.throws(() => owner.sealRecoverySlot(paper, code.slice(1)), { code: "bad-recovery-code" });

// Keys are listed with the state of both copies, and the one in use stays.
const copies = [...keys.map((key) => ({ key, bytes })), { key: coded.keys[0], bytes: coded.bytes }];
assert.deepEqual(desk.keySlots(copies), [
  { slot: slot.id, kind: "passphrase", created: 1_790_000_000_000, faults: [] },
  { slot: paper.id, kind: "recovery-code", created: 1_790_000_000_001, faults: [{ key: coded.keys[1], why: "missing" }] },
]);
desk.mayRemove(copies, paper.id, slot.id);
assert.throws(() => desk.mayRemove(copies, slot.id, slot.id), { code: "key-in-use" });
assert.throws(() => desk.mayRemove(copies.slice(0, 2), slot.id, slot.id), { code: "last-key" });
assert.throws(() => desk.mayRemove(copies.slice(2), paper.id, slot.id), { code: "absent" });

// Another device is let in: the page's module reads the line, and joins with it.
const NOW = 1_790_000_000_000;
for (const role of ["full", "write-only"]) {
  const waiting = owner.invite(descriptor, { name: "phone", role, now: NOW, expires: NOW + 86_400_000, page: "https://backup.example" }, new Uint8Array(64).fill(6));
  assert.equal(waiting.link, `https://backup.example/#join=${waiting.line}`);
  assert.equal(waiting.picture.dark.length, waiting.picture.width ** 2);
  const line = page.Enrollment.parse(waiting.line);
  assert.deepEqual({ ...line.facts, owner: undefined }, { repository: descriptor.facts.repository, client: waiting.client, role, address: "https://backup.example", owner: undefined, expires: NOW + 86_400_000 });
  const records = [[1, waiting.record.bytes]];
  const mine = new page.Descriptor(1, given.descriptor);
  if (role === "full") line.joinFull(page.Owner.openStretched(given.slot, stretched), mine, records, NOW, new Uint8Array(64).fill(7), null);
  else line.join(mine, records, NOW, new Uint8Array(96).fill(7), null);
}
const invite = (name, days) => owner.invite(descriptor, { name, role: "full", now: NOW, expires: NOW + days * 86_400_000, page: "https://backup.example" }, new Uint8Array(64).fill(6));
for (const [name, days] of [["", 1], ["phone", 0], ["phone", 91], ["n".repeat(4097), 1]]) assert.throws(() => invite(name, days), { code: "bad-invitation" });
