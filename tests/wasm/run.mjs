// Runs the probe and prints its report: node run.mjs <module>
import { readFile } from "node:fs/promises";

const bytes = await readFile(process.argv[2]);
const { instance } = await WebAssembly.instantiate(bytes, {});
const { memory, copal_probe_report, copal_probe_length } = instance.exports;
const start = copal_probe_report();
process.stdout.write(Buffer.from(memory.buffer, start, copal_probe_length()));
