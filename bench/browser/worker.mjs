// What a worker does with the files of a folder, in WebAssembly: node worker.mjs PKG FOLDER LEVEL
// Prints, as JSON, bytes and the processor seconds of each step, all threads of Node included. `wasm/examples/speed/` is the
// same natively.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { processorSeconds } from "./clock.mjs";
import { read } from "./files.mjs";

const [pkg, folder, level] = process.argv.slice(2);
const copal = await import(pathToFileURL(resolve(pkg, "copal.js")));
copal.initSync({ module: readFileSync(join(pkg, "copal_bg.wasm")) });

const RUNS = 5;
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
  const chunker = new copal.Chunker(new Uint8Array(32).fill(7), PARAMETERS);
  const compressor = new copal.Compressor(Number(level));
  const spent = { cut: 0, compress: 0 };
  for (const block of blocks) {
    let begun = processorSeconds();
    const lengths = block.flatMap((file) => Array.from(chunker.cut(file, true).lengths));
    spent.cut += processorSeconds() - begun;
    const raw = Buffer.concat(block);
    begun = processorSeconds();
    compressor.compress(Uint32Array.from(lengths), raw);
    spent.compress += processorSeconds() - begun;
  }
  chunker.free();
  compressor.free();
  return spent;
}
