import { expect, test, vi } from "vitest";

import { Ledger } from "../../src/core/backup/progress";

const NOTHING = { files: 0, bytes: 0, isComplete: false };

/** A run that has read 100 MB, half of it new, which is packed to a tenth. */
function ledger(): Ledger {
  const ledger = new Ledger();
  Object.assign(ledger, { bytesDone: 100e6, readBytes: 60e6, newBytes: 50e6, rawBytes: 50e6, sealedBytes: 5e6, packedBytes: 5e6 });
  return ledger;
}

test("what is new counts as done once it has gone to the server, and not when it is read", () => {
  const run = ledger();
  expect(run.tell(NOTHING, null, false).bytes).toMatchObject({ done: 50e6, read: 100e6 });
  run.sentBytes = 2.5e6;
  expect(run.tell(NOTHING, null, false).bytes.done).toBe(75e6);
  run.sentBytes = 5e6;
  expect(run.tell(NOTHING, null, false).bytes.done).toBe(100e6);
});

test("only what a manifest covers is safe: as much as claimed packs hold at least, or all", () => {
  const run = ledger();
  run.sentBytes = 5e6;
  expect(run.securedBytes).toBe(0);
  run.secure(1e6);
  expect(run.securedBytes).toBe(50.99e6);
  run.secure(1e6);
  expect(run.securedBytes).toBe(51.98e6);
  run.secure("all");
  expect(run.securedBytes).toBe(100e6);
});

test("what is left is told after some seconds, by how fast it went, and never in ages of the world", () => {
  let now = 0;
  const time = vi.spyOn(performance, "now").mockImplementation(() => now);
  try {
    const run = ledger();
    run.expected = { files: null, bytes: 1e9 };
    const tell = (ms: number, gone: number) => {
      now += ms;
      run.sentBytes += gone;
      run.storedBytes += gone;
      return run.tell(NOTHING, null, false).eta;
    };
    expect(tell(1_000, 0)).toBeNull();
    // 1 MB/s of files.
    for (let at = 0; at < 20; at++) tell(1_000, 1e5);
    expect(tell(1_000, 1e5)).toBeCloseTo(930, -2);
    // Nothing moves any more.
    for (let at = 0; at < 600; at++) tell(1_000, 0);
    expect(tell(1_000, 0)).toBeNull();
  } finally {
    time.mockRestore();
  }
});

test("about how much there is is told as such, until the scan has ended", () => {
  const run = ledger();
  run.expected = { files: 7, bytes: 2e9 };
  expect(run.tell(NOTHING, null, false)).toMatchObject({ bytes: { total: null, expected: 2e9 }, files: { total: null, expected: 7 } });
  expect(run.tell({ files: 9, bytes: 3e9, isComplete: true }, null, false)).toMatchObject({ bytes: { total: 3e9 }, files: { total: 9 } });
});
