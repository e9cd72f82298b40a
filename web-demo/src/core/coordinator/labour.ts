//! Labour: the workers of a backup, and that only one tab has them.

import type { Settings } from "../api";
import type { Parameters } from "../engine";
import { failure } from "../problem";
import { ownScript } from "../trusted";
import { type Labour, startPool } from "../work/pool";
import workerUrl from "../work/worker.ts?worker&url";
import type { Starting } from "./starting";

export function hand(): Worker {
  return new Worker(ownScript(workerUrl), { type: "module", name: "copal-hand" });
}

/** Starts workers, as many as the machine and the person allow. */
export function workers(engine: Starting<WebAssembly.Module>) {
  return async (settings: Settings, key: () => Uint8Array<ArrayBuffer>, parameters: Parameters): Promise<Labour> => {
    const cores = navigator.hardwareConcurrency || 2;
    return startPool({
      workers: settings.workers || Math.min(Math.max(cores, 1), 4),
      spawn: hand,
      module: await engine.begun(),
      key,
      parameters,
      level: settings.compression === "fast" ? 1 : parameters.zstdLevel,
    });
  };
}

/** Backs up alone: two tabs of one client would only be in each other's way. */
export function alone(repository: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    void navigator.locks.request(`copal backup ${repository}`, { ifAvailable: true }, (lock) => {
      if (!lock) {
        reject(failure("elsewhere"));
        return undefined;
      }
      return new Promise<void>((release) => resolve(release));
    });
  });
}
