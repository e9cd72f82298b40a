// What unlocking, registering and signing do and refuse: node unlock.mjs <pkg> <golden report>
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { start } from "./engine.mjs";
import { givenOf } from "./session.mjs";

const [pkg, golden] = process.argv.slice(2);
const given = givenOf(readFileSync(golden, "utf8"));
const { copal, memory } = await start(pkg);
const NOW = 1_790_000_000_000;

// What takes memory for a passphrase may be done elsewhere: who opens the slot takes none of it.
const slot = given.slot;
const [theirs, wrong] = await Promise.all(["correct horse battery staple", "another"].map((passphrase) => stretched({ pkg, slot, passphrase })));
assert(theirs.memory > 8 << 20, "this slot asks for 8 MiB");
assert.throws(() => copal.Owner.openStretched(slot, wrong.key), { code: "wrong-passphrase" });
assert.throws(() => copal.Owner.openStretched(slot, theirs.key.subarray(1)), { code: "misuse" });
const owner = copal.Owner.openStretched(slot, theirs.key);
assert(memory.buffer.byteLength < 2 << 20, "who opens takes none of it");

// Unlocking, registering, signing.
const descriptor = new copal.Descriptor(1, given.descriptor);
const { repository } = descriptor.facts;
assert.throws(() => copal.Owner.open(given.slot, "another"), { code: "wrong-passphrase" });
copal.Owner.open(given.slot, "correct horse battery staple").check(descriptor);
owner.check(descriptor);
assert.equal(owner.repository, repository);
const { client, record } = owner.register(descriptor, "alone", NOW, new Uint8Array(80).fill(1));
const resumed = owner.resume(client.keep(new Uint8Array(16).fill(2)));
resumed.check(descriptor, [[1, record.bytes]]);
const request = { method: "GET", url: "https://backup.example/v1/index", sha256: new Uint8Array(32), created: 1, expires: 2, nonce: new Uint8Array(16) };
assert.match(resumed.signRequest(request).signature, /^copal=:/);
assert.match(owner.signRequest(request).signature, /^copal=:/);
assert.equal(copal.unsignedRequest(resumed.facts.client, request).message.length > 0, true);
assert.throws(() => copal.Enrollment.parse("COPAL-JOIN-1-ABC"), { code: "bad-enrollment" });

assert.equal((await start(pkg)).memory, memory, "starting again gives the same engine");

/** What another thread, with an engine of its own, makes of a passphrase. */
function stretched(workerData) {
  return new Promise((done, failed) => {
    new Worker(new URL("stretched.mjs", import.meta.url), { workerData }).once("message", done).once("error", failed);
  });
}
