import { expect, test } from "vitest";

import { Output } from "../../src/core/backup/output";

type Parts = ConstructorParameters<typeof Output>;

test("between two packs of one pump there is time for a claim, so that the first is safe while the others wait for the line", async () => {
  const done: string[] = [];
  const packs = [0, 1, 2].map((number) => ({ type: "pack", number, bytes: new Uint8Array(1_000) }));
  const backup = { aim: () => {}, actions: () => packs, named: (number: number) => `pack ${number}`, stored: (number: number) => void done.push(`stored ${number}`) };
  const site = { labour: { workers: 1 }, gateway: { create: async () => true } };
  const ledger = { packedBytes: 0, storedBytes: 0, sentBytes: 0, uploadMs: 0 };
  const output = new Output(backup as unknown as Parts[0], site as unknown as Parts[1], { gate: async () => {} } as unknown as Parts[2], ledger as unknown as Parts[3], () => ({}) as ReturnType<Parts[4]>);

  await output.pump(async () => void done.push("between"));
  await output.end();

  expect(done.filter((one) => one === "between")).toHaveLength(3);
  // One is on its way at first: the second starts once the first is there, and what was stored is claimed before the rest.
  expect(done.indexOf("stored 0")).toBeLessThan(done.indexOf("between", done.indexOf("stored 0")));
  expect(done.indexOf("between", done.indexOf("stored 0"))).toBeLessThan(done.indexOf("stored 2"));
  expect(ledger.storedBytes).toBe(3_000);
});
