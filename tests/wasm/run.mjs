// Runs the scripted session and prints its report: node run.mjs <module>
import { readFile } from "node:fs/promises";

const bytes = await readFile(process.argv[2]);
const { instance } = await WebAssembly.instantiate(bytes, {});
const { memory, copal_session_report, copal_session_length } = instance.exports;
const start = copal_session_report();
process.stdout.write(Buffer.from(memory.buffer, start, copal_session_length()));
