// What coordinator and worker together do with the files of a folder, all new: node coordinator.mjs PKG SESSION FOLDER
// Prints, as JSON, bytes, processor seconds, all threads of Node included, and the bytes of the engine's memory. What
// `worker.mjs` takes is the worker's part. SESSION is the golden session, with whose repository it begins.
import { readFileSync } from "node:fs";
import { start, startSealing } from "../../tests/wasm/engine.mjs";
import { Held, givenOf } from "../../tests/wasm/session.mjs";
import { read } from "./files.mjs";
import { processorSeconds } from "./clock.mjs";

const [pkg, session, folder] = process.argv.slice(2);
const { copal, memory } = await start(pkg);
const { copal: sealing, memory: sealingMemory } = await startSealing(pkg);
const compressor = new sealing.Compressor();

const RUNS = 3;
const NOW = 1_790_000_000_000;

const given = givenOf(readFileSync(session, "utf8"));
const descriptor = new copal.Descriptor(1, given.descriptor);
const { parameters } = descriptor.facts;
const owner = copal.Owner.open(given.slot, "correct horse battery staple");
const { client } = owner.register(descriptor, "measured", NOW, new Uint8Array(80).fill(1));
const files = read(folder).flat();
const bytes = files.reduce((sum, file) => sum + file.length, 0);
const names = files.map((_, at) => `f${String(at).padStart(6, "0")}`);
let best = Infinity;
for (let run = 0; run < RUNS; run++) {
  const begun = processorSeconds();
  await backUp();
  best = Math.min(best, processorSeconds() - begun);
}
console.log(JSON.stringify({ bytes, seconds: best, memory: memory.buffer.byteLength + sealingMemory.buffer.byteLength }));

async function backUp() {
  const view = new copal.View(null, [client.facts.domain]);
  const backup = new copal.Backup(client, descriptor, view, {
    random: new Uint8Array(128).fill(2), keptRandom: new Uint8Array(16).fill(3), now: NOW, host: "", paths: [],
    label: "measured", tags: [], program: "", user: "", packTarget: 16 << 20, compressor,
  });
  const secret = backup.takeBlockKey();
  const key = await crypto.subtle.importKey("raw", secret, "AES-GCM", false, ["encrypt", "decrypt"]);
  backup.manifest(undefined);
  const chunker = new sealing.Chunker(client.chunkerKey(), parameters);
  const sealer = chunker.sealer(backup.sealerKey(), 3);
  const held = new Held();
  const act = async () => {
    for (const action of backup.actions()) {
      if (action.type === "store") {
        backup.named(action.number, new Uint8Array(await crypto.subtle.digest("SHA-256", action.bytes)));
        continue;
      }
      const { counter, kind, ids, lengths } = action;
      const raw = action.raw ?? held.block(lengths);
      const { plaintext, iv, additionalData } = sealer.prepare(counter, kind, ids, lengths, raw);
      const terms = { name: "AES-GCM", iv, additionalData };
      const sealed = await crypto.subtle.encrypt(terms, key, plaintext);
      sealer.opened(counter, new Uint8Array(await crypto.subtle.decrypt(terms, key, sealed)));
      backup.sealed(counter, Buffer.concat([iv, new Uint8Array(sealed)]));
    }
  };
  for (let start = 0; start < files.length; start += 512) {
    const facts = files.slice(start, start + 512).map((content, at) => (
      { path: names[start + at], size: content.length, modified: NOW - 1_000_000 }
    ));
    backup.compare(copal.inColumns(facts));
    for (const [at, entry] of facts.entries()) {
      const content = files[start + at];
      if (content.length <= parameters.inlineMax) {
        backup.inline(entry, content);
      } else {
        const { ids, lengths } = chunker.cut(content, true);
        backup.begin();
        held.add(content, lengths, backup.chunks(ids, lengths));
        backup.end(entry);
      }
      await act();
    }
  }
  backup.finish();
  while (!backup.isIdle) await act();
  for (const used of [backup, view, chunker, sealer]) used.free();
}
