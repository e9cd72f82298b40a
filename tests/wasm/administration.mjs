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
