//! Stretcher: makes a passphrase slow to guess. That takes 64 MiB of the engine's memory, which WebAssembly never gives
//! back: so a worker does it that ends afterwards.

import { failure } from "../problem";
import type { Stretch, Stretched } from "./protocol";
import type { WorkerLike } from "./pool";

/** Somebody who stretches passphrases; tests do it themselves. */
export interface Stretcher {
  /** What opens a slot; whoever takes it overwrites it. */
  stretch(slot: Uint8Array, passphrase: string): Promise<Uint8Array<ArrayBuffer>>;
  end(): void;
}

/** Starts a worker that stretches. */
export function startStretcher(spawn: () => WorkerLike<Stretch, Stretched>, module: WebAssembly.Module): Stretcher {
  const worker = spawn();
  const broken = new Promise<never>((_, reject) => {
    // What could not be fetched is told without a text, and not as what went wrong in it.
    worker.onerror = ({ message }) => reject(failure(message === undefined ? "server-gone" : "unsupported"));
  });
  broken.catch(() => {});
  const ask = (message: Stretch) =>
    new Promise<Stretched>((resolve) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.postMessage(message, []);
    });
  return {
    async stretch(slot, passphrase) {
      const answer = await Promise.race([ask({ module, slot, passphrase }), broken]);
      if ("key" in answer) return answer.key;
      // What is not the engine's own word is a browser that gives it no memory.
      const code = /^[a-z]/.test(answer.reason) ? answer.reason : "no-memory";
      throw Object.assign(new Error("the passphrase could not be stretched"), { code });
    },
    end: () => worker.terminate(),
  };
}
