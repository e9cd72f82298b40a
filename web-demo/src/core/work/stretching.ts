//! Stretching: a worker that makes of a passphrase what opens a key slot, and does nothing else. Its script is the one that starts
//! it: the browser has that already, and all of the engine's JavaScript in it.

import { Owner, initSync } from "../engine";
import { ownScript } from "../trusted";
import type { WorkerLike } from "./pool";
import type { Stretch, Stretched } from "./protocol";
import { reason } from "./reason";

/** Starts this script once more, for that alone. */
export function spawnStretching(): WorkerLike<Stretch, Stretched> {
  return new Worker(ownScript(self.location.href), { type: "module", name: NAME });
}

/** Whether this is such a worker. */
export function isStretching(): boolean {
  return self.name === NAME;
}

/** What such a worker does. */
export function stretching({ data }: MessageEvent<Stretch>): void {
  try {
    initSync({ module: data.module });
    const key = Owner.stretch(data.slot, data.passphrase);
    tell({ key }, [key.buffer]);
  } catch (error) {
    tell({ reason: reason(error) });
  }
}

function tell(message: Stretched, transfer: Transferable[] = []): void {
  postMessage(message, { transfer });
}

const NAME = "copal-stretching";
