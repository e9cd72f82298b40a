import { createHash } from "node:crypto";
import { expect, test, vi } from "vitest";

import type { Opened } from "../../src/core/coordinator/opened";

vi.mock("../../src/core/engine", () => ({ receipt: () => ({ outcome: "rejected" }) }));

const { lastGood } = await import("../../src/core/coordinator/devices");

const CLIENT = "a2b4b7af81418aa22ae2d06683ebf3d6";
const MANIFEST = new TextEncoder().encode("a manifest");
const HASH = createHash("sha256").update(MANIFEST).digest("hex");

/** A device of which 100,000 steps were rejected, and these snapshots accepted; counts the receipts that are read. */
function flooded(snapshots: { client: string; number: number; id: string; accepted: number }[]) {
  const asked = { receipts: 0, keys: [] as string[] };
  const gateway = {
    receipt: async () => { asked.receipts += 1; return new Uint8Array(1); },
    read: async (_patience: unknown, key: string) => { asked.keys.push(key); return MANIFEST; },
  };
  const view = { head: () => ({ number: 100_000, time: 9, accepted: null }), snapshots: () => snapshots, free: () => {} };
  return { asked, site: { gateway, openView: async () => view } as unknown as Opened };
}

test("behind any number of rejected steps the newest snapshot is found with few requests", async () => {
  const own = (number: number, id = HASH.slice(0, 32)) => ({ client: CLIENT, number, id, accepted: number });
  const { asked, site } = flooded([own(2, "00".repeat(16)), own(7), own(1, "00".repeat(16)), { ...own(90), client: "00".repeat(16) }]);
  expect(await lastGood(site, CLIENT)).toEqual({ number: 7, hash: HASH, time: 7 });
  expect(asked).toEqual({ receipts: 64, keys: [`manifests/${CLIENT}/00000000000000000007`] });
});

test("a device without a snapshot has no last step behind many rejected ones", async () => {
  const { asked, site } = flooded([]);
  expect(await lastGood(site, CLIENT)).toBeNull();
  expect(asked).toEqual({ receipts: 64, keys: [] });
});

test("another manifest in the place of the snapshot's is not named as the last one", async () => {
  const { site } = flooded([{ client: CLIENT, number: 7, id: "00".repeat(16), accepted: 7 }]);
  await expect(lastGood(site, CLIENT)).rejects.toMatchObject({ problem: { code: "damaged" } });
});
