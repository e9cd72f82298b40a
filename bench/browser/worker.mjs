// What a worker does with the files of a folder, in WebAssembly: node worker.mjs PKG FOLDER LEVEL
// Prints, as JSON, bytes and the processor seconds of each step, all threads of Node included. `wasm/examples/speed/` is the
// same natively.
import { processorSeconds } from "./clock.mjs";
import { read } from "./files.mjs";
import { startSealing } from "../../tests/wasm/engine.mjs";

const [pkg, folder, level] = process.argv.slice(2);
const { copal: sealing } = await startSealing(pkg);

const RUNS = 5;
/** A key for nonces, and two ids. */
const KEY = 64;
const PARAMETERS = { chunkMin: 16 << 10, chunkAverage: 64 << 10, chunkMax: 256 << 10 };

const blocks = read(folder);
const bytes = blocks.flat().reduce((sum, file) => sum + file.length, 0);
let best = null;
for (let run = 0; run < RUNS; run++) {
  const found = seconds(blocks);
  if (best === null || found.cut + found.compress < best.cut + best.compress) best = found;
}
console.log(JSON.stringify({ bytes, ...best }));

function seconds(blocks) {
  const chunker = new sealing.Chunker(new Uint8Array(32).fill(7), PARAMETERS);
  const sealer = chunker.sealer(new Uint8Array(KEY).fill(7), Number(level));
  const spent = { cut: 0, compress: 0 };
  for (const [counter, block] of blocks.entries()) {
    let begun = processorSeconds();
    const cuts = block.map((file) => chunker.cut(file, true));
    spent.cut += processorSeconds() - begun;
    const raw = Buffer.concat(block);
    const ids = Buffer.concat(cuts.map((cut) => cut.ids));
    const lengths = Uint32Array.from(cuts.flatMap((cut) => Array.from(cut.lengths)));
    begun = processorSeconds();
    const { plaintext } = sealer.prepare(counter, "data", ids, lengths, raw);
    sealer.opened(counter, plaintext);
    spent.compress += processorSeconds() - begun;
  }
  chunker.free();
  sealer.free();
  return spent;
}
