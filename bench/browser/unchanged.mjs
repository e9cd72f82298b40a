// A run whose every entry is as it was in the run before, in WebAssembly: node unchanged.mjs PKG SESSION
// Prints, as JSON, entries and processor seconds, all threads of Node included. `wasm/examples/speed/unchanged.rs` is the
// same natively. SESSION is the golden session, with whose repository it begins.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { processorSeconds } from "./clock.mjs";
import { start, startSealing } from "../../tests/wasm/engine.mjs";
import { givenOf } from "../../tests/wasm/session.mjs";

const [pkg, session] = process.argv.slice(2);
const { copal } = await start(pkg);
const { copal: sealing } = await startSealing(pkg);
const compressor = new sealing.Compressor();

const RUNS = 5;
const NOW = 1_790_000_000_000;
const ENTRIES = 50_000;
const SIZE = 100;

const given = givenOf(readFileSync(session, "utf8"));
const descriptor = new copal.Descriptor(1, given.descriptor);
const owner = copal.Owner.open(given.slot, "correct horse battery staple");
const { client } = owner.register(descriptor, "measured", NOW, new Uint8Array(80).fill(1));
const number = (value, digits) => String(value).padStart(digits, "0");
const files = Array.from({ length: ENTRIES }, (_, at) => (
  { path: `Photos/${number(Math.floor(at / 200), 3)}/${number(at, 5)}.txt`, size: SIZE, modified: NOW - 1_000_000 }
));
const kept = backUp(null);
let best = Infinity;
for (let run = 0; run < RUNS; run++) {
  const begun = processorSeconds();
  backUp(kept);
  best = Math.min(best, processorSeconds() - begun);
}
console.log(JSON.stringify({ entries: ENTRIES, seconds: best }));

/** Takes all files; gives the tree that is kept. */
function backUp(kept) {
  const view = new copal.View(null, [client.facts.domain]);
  const backup = new copal.Backup(client, descriptor, view, {
    random: new Uint8Array(128).fill(2), keptRandom: new Uint8Array(16).fill(3), now: NOW, host: "", paths: [],
    label: "measured", tags: [], program: "", user: "", packTarget: 16 << 20, compressor,
  });
  backup.manifest(undefined);
  const isKnown = kept !== null && backup.parent(kept);
  const chunker = new sealing.Chunker(client.chunkerKey(), descriptor.facts.parameters);
  const sealer = chunker.sealer(backup.sealerKey(), 3);
  const content = new Uint8Array(SIZE).fill(7);
  const act = () => {
    for (const action of backup.actions()) {
      if (action.type === "store") {
        backup.named(action.number, createHash("sha256").update(action.bytes).digest());
        continue;
      }
      const { plaintext } = sealer.prepare(action.counter, action.kind, action.ids, action.lengths, action.raw);
      sealer.opened(action.counter, plaintext);
      backup.seal(action.counter, plaintext);
    }
  };
  for (let start = 0; start < files.length; start += 512) {
    const batch = files.slice(start, start + 512);
    for (const verdict of backup.compare(copal.inColumns(batch))) if ((verdict === 0) !== isKnown) throw new Error("another verdict");
    if (isKnown) backup.takeSame(batch.length);
    else for (const facts of batch) backup.inline(facts, content);
    act();
  }
  backup.finish();
  while (!backup.isIdle) act();
  while (backup.nextClaim() !== null) backup.claimed(null);
  const tree = backup.takeKept();
  for (const used of [backup, view, chunker, sealer]) used.free();
  return tree;
}
