// A thread that stretches a passphrase, for first.mjs.
import { parentPort, workerData } from "node:worker_threads";
import { first } from "./engine.mjs";

const { copal, memory } = await first(workerData.pkg);
const key = copal.Owner.stretch(workerData.slot, workerData.passphrase);
parentPort.postMessage({ key, memory: memory.buffer.byteLength });
