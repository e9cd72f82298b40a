import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test, vi } from "vitest";

import type { Opened } from "../../src/core/coordinator/opened";

vi.mock("../../src/core/engine", () => ({ receipt: () => ({ outcome: "rejected" }) }));

const { readStatus } = await import("../../src/core/coordinator/status");

const CLIENT = "a2b4b7af81418aa22ae2d06683ebf3d6";
const KEY = `manifests/${CLIENT}/00000000000000000001`;
const MANIFEST = new Uint8Array(readFileSync(resolve(import.meta.dirname, "../../../tests/golden/repository", KEY)));

test("a backup that is not decided, or was rejected, is told by its snapshot's id", async () => {
  const status = (receipt: Uint8Array | null) => {
    const gateway = { list: async () => [{ key: KEY, length: MANIFEST.length, created: 5 }], receipt: async () => receipt, read: async () => MANIFEST };
    const view = { snapshots: () => [], statistics: () => ({ dataBytes: 0, treeBytes: 0, growth: [] }), free: () => {} };
    return readStatus({ client: { facts: { client: CLIENT } }, gateway, openView: async () => view } as unknown as Opened, null, []);
  };
  const snapshot = createHash("sha256").update(MANIFEST).digest("hex").slice(0, 32);
  expect((await status(null)).receipts).toMatchObject([{ snapshot, state: "waiting" }]);
  expect((await status(new Uint8Array(1))).receipts).toMatchObject([{ snapshot, state: "rejected", problem: { code: "manifest-rejected" } }]);
});
