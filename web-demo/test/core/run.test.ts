import { expect, test, vi } from "vitest";

import { Control } from "../../src/core/coordinator/control";
import type { Scanned } from "../../src/core/source/tree";

const said = vi.hoisted(() => ({ missed: 0 }));

vi.mock("../../src/core/engine", () => ({
  // As far as the end of the scan.
  Backup: class {
    source = "s";
    undecided = [];
    unlisted = 0;
    tally = { files: 1, newBytes: 0 };
    nextManifest = () => null;
    basis = () => false;
    takeBlockKey = () => new Uint8Array(32);
    compare = (files: unknown[]) => new Uint8Array(files.length);
    takeSame = () => {};
    actions = () => [];
    sealerKey = () => new Uint8Array(64);
    free = () => {};
    miss = () => void (said.missed += 1);
    finish = () => {
      throw new Error("enough");
    };
  },
}));

const { BackupRun } = await import("../../src/core/backup/run");

test("what could not be saved makes the snapshot incomplete, what was left out on purpose does not", async () => {
  const scan = async function* (): AsyncGenerator<Scanned> {
    yield { kind: "left-out", path: "P/a", why: "excluded", detail: null };
    yield { kind: "left-out", path: "P/b", why: "unreadable", detail: "NotReadableError" };
    yield { kind: "left-out", path: "P/c", why: "bad-name", detail: null };
    yield { kind: "file", path: "P/d", size: 1, modified: 1, open: async () => new File(["x"], "d") };
  };
  const kept = { read: async () => null, write: async () => {}, remove: async () => {}, list: async () => [], create: () => Promise.reject(new Error("full")), file: () => Promise.reject(new Error("full")) };
  const site = {
    client: { facts: { client: "c" } }, descriptor: {}, gateway: {}, labour: { workers: 1, begin: () => {} }, kept, sign: null,
    openView: async () => ({ free: () => {} }), random: (length: number) => new Uint8Array(length), now: () => 1,
  };
  const run = new BackupRun(site as unknown as ConstructorParameters<typeof BackupRun>[0], { host: "h", label: "", paths: ["P"], program: "p", scan }, new Control());
  await expect(run.run()).rejects.toThrow("enough");
  expect(said.missed).toBe(2);
  expect(run.ledger.leftOut).toMatchObject({ excluded: 1, unreadable: 1, badNames: 1 });
});
