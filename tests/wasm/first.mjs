// What the engine does with its first file alone, and that the rest joins it: node first.mjs <pkg> <golden report>
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { compiled, first } from "./engine.mjs";
import { givenOf } from "./session.mjs";

const [pkg, golden] = process.argv.slice(2);
const given = givenOf(readFileSync(golden, "utf8"));
const { loadRest } = await import(pathToFileURL(resolve(pkg, "copal.js")));
await assert.rejects(loadRest(await compiled(pkg, "copal_rest.wasm")), /first file comes first/);
const { copal, memory } = await first(pkg);
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
const { parameters, repository } = descriptor.facts;
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

// All that workers do.
const chunker = new copal.Chunker(resumed.chunkerKey(), parameters);
const sealer = chunker.sealer(new Uint8Array(64).fill(7), 3);
const raw = new Uint8Array(600_000).map((_, at) => (at * at) >> 7);
const { ids, lengths, consumed } = chunker.cut(raw, true);
assert.equal(consumed, raw.length);
const { plaintext } = sealer.prepare(0, "data", ids, lengths, raw);
sealer.opened(0, plaintext);

// The rest: nothing of it is there before, another file is refused, and what the first file made is of use to it.
assert.throws(() => new copal.View(null, [resumed.facts.domain]), TypeError);
await assert.rejects(copal.loadRest(await compiled(pkg, "copal_first.wasm")), WebAssembly.LinkError);
assert.throws(() => new copal.View(null, [resumed.facts.domain]), TypeError);
await copal.loadRest(await compiled(pkg, "copal_rest.wasm"));
const view = new copal.View(null, [resumed.facts.domain]);
assert.deepEqual(view.snapshots(), []);
assert.equal(await copal.load(), memory, "it is one engine");

/** What another thread, with an engine of its own, makes of a passphrase. */
function stretched(workerData) {
  return new Promise((done, failed) => {
    new Worker(new URL("stretched.mjs", import.meta.url), { workerData }).once("message", done).once("error", failed);
  });
}

console.log("the first file is enough for unlocking and for workers");
