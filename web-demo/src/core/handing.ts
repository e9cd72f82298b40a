//! Handing: the last step of a download: the browser takes a staged file.

import type { RestoreProgress, RestoreResult, Run } from "./api";

/** What a restore comes to; a file that the browser is to download. */
export interface Restored {
  result: RestoreResult;
  file: File | null;
  name: string;
}

/** Hands a staged file to the browser's downloads before it says that it is done. */
export function handedOver(run: Run<RestoreProgress, Restored>): Run<RestoreProgress, RestoreResult> {
  const done = run.done.then(async ({ result, file, name }) => {
    if (file) {
      await turn();
      save(file, name);
    }
    return result;
  });
  done.catch(() => {});
  return { ...through(run), done };
}

/** What is said to a run and heard of it on the way. */
export function through<P, R>(run: Run<P, R>): Omit<Run<P, R>, "done"> {
  return { onProgress: (listener) => run.onProgress(listener), pause: () => run.pause(), resume: () => run.resume(), cancel: () => run.cancel() };
}

/** When the next file may be handed over. */
let free = 0;

/** Waits for its turn: what comes after ten downloads within a second is dropped by Chromium, and nobody is told. */
async function turn(): Promise<void> {
  const now = performance.now();
  const at = Math.max(now, free);
  free = at + APART;
  if (at > now) await new Promise((resolve) => setTimeout(resolve, at - now));
}

function save(file: File, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The browser reads it on its own time.
  setTimeout(() => URL.revokeObjectURL(link.href), 10 * 60_000);
}

/** Milliseconds between two downloads: the eleventh comes more than a second after the first. */
const APART = 110;
