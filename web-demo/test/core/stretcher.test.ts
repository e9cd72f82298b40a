import { expect, test } from "vitest";

import type { WorkerLike } from "../../src/core/work/pool";
import type { Stretch, Stretched } from "../../src/core/work/protocol";
import { startStretcher } from "../../src/core/work/stretcher";

const MODULE = {} as WebAssembly.Module;

/** A worker that gives this answer; none at all if there is none. */
function started(answer: Stretched | null) {
  const [asked, seen]: [Stretch[], { ended: number }] = [[], { ended: 0 }];
  const worker: WorkerLike<Stretch, Stretched> = {
    onmessage: null,
    onerror: null,
    postMessage: (message) => {
      asked.push(message);
      if (answer) worker.onmessage?.({ data: answer } as MessageEvent<Stretched>);
    },
    terminate: () => void (seen.ended += 1),
  };
  return { stretcher: startStretcher(() => worker, MODULE), worker, asked, seen };
}

const SLOT = new Uint8Array([1]);

test("a worker is asked for what opens a slot, and ends when it is told", async () => {
  const key = new Uint8Array(32);
  const { stretcher, asked, seen } = started({ key });
  expect(await stretcher.stretch(SLOT, "p")).toBe(key);
  expect(asked).toEqual([{ module: MODULE, slot: SLOT, passphrase: "p" }]);
  stretcher.end();
  expect(seen.ended).toBe(1);
});

test("what the engine says of a slot is told on", async () => {
  const { stretcher } = started({ reason: "slot-damaged" });
  await expect(stretcher.stretch(SLOT, "p")).rejects.toMatchObject({ code: "slot-damaged" });
});

test("an engine that the browser gives no memory is told as that", async () => {
  const { stretcher } = started({ reason: "RuntimeError" });
  await expect(stretcher.stretch(SLOT, "p")).rejects.toMatchObject({ code: "no-memory" });
});

test("a worker that cannot be fetched, or breaks, is told: also before and while it is asked", async () => {
  const absent = started(null);
  absent.worker.onerror!({} as ErrorEvent);
  await expect(absent.stretcher.stretch(SLOT, "p")).rejects.toMatchObject({ problem: { code: "server-gone" } });
  const broken = started(null);
  const asked = broken.stretcher.stretch(SLOT, "p");
  broken.worker.onerror!({ message: "out of memory" } as ErrorEvent);
  await expect(asked).rejects.toMatchObject({ problem: { code: "unsupported" } });
});
