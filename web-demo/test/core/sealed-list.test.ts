/** Sealed list: what is kept for a visit without a network opens with its passphrase alone. */

import { expect, test } from "vitest";
import type { SnapshotList } from "../../src/core/api";
import type { Private } from "../../src/core/keep/private";
import { keepList, openKept, readKept, removeKept, vaultOf } from "../../src/core/keep/sealed-list";
import { snapshots } from "../app/harness/scripted";

/** Files in memory. */
function memory(): Private & { all: Map<string, Uint8Array<ArrayBuffer>> } {
  const all = new Map<string, Uint8Array<ArrayBuffer>>();
  const unused = () => Promise.reject(new Error("unused"));
  return { all, read: async (name) => all.get(name) ?? null, write: async (name, bytes) => void all.set(name, bytes.slice()), remove: async (name) => void all.delete(name), list: async () => [...all.keys()], create: unused, file: unused };
}

const SLOT = Uint8Array.of(1, 2, 10, 3);
const vault = (byte: number) => vaultOf(SLOT, new Uint8Array(32).fill(byte));
/** As long as that of a repository of many years. */
const LIST: SnapshotList = { snapshots: Array.from({ length: 50 }, () => snapshots()).flat(), damage: [] };

test("a list comes back as it was, with its date and the slot it opens by, and no name is in the clear", async () => {
  const files = memory();
  await keepList(files, await vault(1), "r", LIST, 7);
  const kept = (await readKept(files))!;
  expect(kept).toMatchObject({ repository: "r", time: 7, slot: SLOT });
  expect(await openKept(kept, await vault(1))).toEqual(LIST);
  const stored = new TextDecoder("latin1").decode([...files.all.values()][0]);
  for (const name of ["Pictures", "mara", "Studio", "snapshot"]) expect(stored).not.toContain(name);
});

test("another passphrase, another date, another repository or an altered byte opens nothing", async () => {
  const files = memory();
  await keepList(files, await vault(1), "r", LIST, 7);
  const kept = (await readKept(files))!;
  expect(await openKept(kept, await vault(2))).toBe(null);
  expect(await openKept({ ...kept, time: 8 }, await vault(1))).toBe(null);
  expect(await openKept({ ...kept, repository: "s" }, await vault(1))).toBe(null);
  kept.sealed[9]! ^= 1;
  expect(await openKept(kept, await vault(1))).toBe(null);
});

test("the key that seals is not the one that opens the slot, and cannot be taken out", async () => {
  const { key } = await vault(1);
  await expect(crypto.subtle.exportKey("raw", key)).rejects.toThrow();
  const own = await crypto.subtle.importKey("raw", new Uint8Array(32).fill(1), "AES-GCM", false, ["decrypt"]);
  const files = memory();
  await keepList(files, await vault(1), "r", LIST, 7);
  expect(await openKept((await readKept(files))!, { slot: SLOT, key: own })).toBe(null);
});

test("what cannot be read is none, and what was removed is gone", async () => {
  const files = memory();
  expect(await readKept(files)).toBe(null);
  for (const bytes of ["", "{}", '{"version":2}\n', "no line", '{"version":1,"repository":"r","time":1,"slot":"%","iv":""}\n']) {
    await files.write("list", new TextEncoder().encode(bytes));
    expect(await readKept(files), bytes).toBe(null);
  }
  await keepList(files, await vault(1), "r", LIST, 7);
  await removeKept(files);
  expect(await readKept(files)).toBe(null);
});
