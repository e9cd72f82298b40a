// A thread that stretches a passphrase, for unlock.mjs.
import { parentPort, workerData } from "node:worker_threads";
import { start } from "./engine.mjs";

const { copal, memory } = await start(workerData.pkg);
const key = copal.Owner.stretch(workerData.slot, workerData.passphrase);
parentPort.postMessage({ key, memory: memory.buffer.byteLength });
