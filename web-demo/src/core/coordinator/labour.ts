//! Labour: the module for sealing and the workers of a backup, which have it; and that only one tab has them.

import type { Settings } from "../api";
import { Compressor, initSync } from "../backup/engine";
import type { Parameters } from "../engine";
import { failure } from "../problem";
import { ownScript } from "../trusted";
import { type Labour, startPool } from "../work/pool";
import workerUrl from "../work/worker.ts?worker&url";

/** What seals: here what the session seals itself, and workers. */
export interface Sealers {
  compressor: Compressor;
  /** Starts workers that have a key which names chunks. */
  hire(settings: Settings, key: () => Uint8Array<ArrayBuffer>, parameters: Parameters): Promise<Labour>;
}

/** Starts the module for sealing. Workers are as many as the machine and the person allow. */
export function start(module: WebAssembly.Module): Sealers {
  initSync({ module });
  return {
    compressor: new Compressor(),
    hire: (settings, key, parameters) => {
      const cores = navigator.hardwareConcurrency || 2;
      return startPool({
        workers: settings.workers || Math.min(Math.max(cores, 1), 4),
        spawn: () => new Worker(ownScript(workerUrl), { type: "module", name: "copal-hand" }),
        module,
        key,
        parameters,
        level: settings.compression === "fast" ? 1 : parameters.zstdLevel,
      });
    },
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
