import { expect, test } from "vitest";

import type { Wish } from "../../src/core/api";
import type { Changes } from "../../src/core/engine";
import { change } from "../../src/core/coordinator/changing";
import type { Opened } from "../../src/core/coordinator/opened";
import type { Books } from "../../src/core/restore/books";

const PIN: Wish = { do: "pin", snapshots: ["s"] };

/** A server with a chain of changes, of which `plays` says what it does when something is created. */
function site(plays: (key: string, stored: Map<string, Uint8Array>) => boolean, end = 2) {
  const stored = new Map<string, Uint8Array>();
  const seen = new Map<string, object>();
  const opened = {
    client: { facts: { client: "c" } },
    checkClient: async () => {},
    known: { facts: { id: "r", owner: "o" }, descriptor: { facts: { version: 1 } } },
    database: {
      get: async (_: string, key: string) => seen.get(key) ?? null,
      change: async (_: string, key: string, change: (row: object | null) => { repository: string } | null) => {
        const next = change(seen.get(key) ?? null);
        if (next) seen.set(key, next);
        return next;
      },
    },
    gateway: {
      time: async () => 5_000_000n,
      read: async (_: unknown, key: string) => stored.get(key) ?? null,
      create: async (_: unknown, key: string, bytes: Uint8Array) => plays(key, stored) && (stored.set(key, bytes), true),
    },
    openView: async () => ({ root: { change: { number: 1_000_000, hash: "h" } }, free: () => {} }),
  };
  let unread = 0;
  let isDone = false;
  let number = end;
  const reads: (Uint8Array | null)[] = [];
  const changes = {
    get unread() { return unread < 2 ? `changes/${unread + 1}` : undefined; },
    read: (bytes: Uint8Array | null) => { unread += 1; reads.push(bytes); },
    next: () => (isDone ? null : { message: null }),
    signed: () => ({ key: `changes/${number + 1}`, bytes: Uint8Array.of(number) }),
    stored: (there: Uint8Array) => { isDone = there[0] === number; number += 1; return isDone; },
    get end() { return { number, hash: "h" }; },
    free: () => {},
  };
  const books = { changes: async () => changes as unknown as Changes, snapshots: async () => ({ snapshots: [{ id: "s", pinned: true, tags: [] }], damage: [] }) };
  return { opened: opened as unknown as Opened, books: books as unknown as Books, stored, seen };
}

test("a change is created once, and remembered as the newest that was seen", async () => {
  const { opened, books, stored, seen } = site(() => true);
  expect(await change(opened, books, PIN)).toEqual({ state: "done", unchanged: [] });
  expect([...stored.keys()]).toEqual(["changes/3"]);
  expect(seen.get("r")).toMatchObject({ owner: "o", change: { number: 3 } });
});

test("a change that is stored is told as stored, though the server does not answer any more", async () => {
  const { opened, books, stored } = site(() => true);
  opened.openView = () => Promise.reject(new Error("gone"));
  expect(await change(opened, books, PIN)).toEqual({ state: "waiting", unchanged: [] });
  expect(stored.size).toBe(1);
});

test("behind another writer's change it is signed anew", async () => {
  const { opened, books, stored } = site((key, stored) => {
    if (key === "changes/3") stored.set(key, Uint8Array.of(99));
    return key !== "changes/3";
  });
  await change(opened, books, PIN);
  expect([...stored].map(([key, [first]]) => `${key} ${first}`)).toEqual(["changes/3 99", "changes/4 3"]);
});

test("a server that has always another writer's change is given up", async () => {
  const signed: string[] = [];
  const { opened, books } = site((key, stored) => { signed.push(key); stored.set(key, Uint8Array.of(255)); return false; });
  await expect(change(opened, books, PIN)).rejects.toMatchObject({ problem: { code: "busy" } });
  expect([signed.length, new Set(signed).size]).toEqual([64, 64]);
});

test("a server that refuses a name and has nothing there has failed", async () => {
  const { opened, books } = site(() => false);
  await expect(change(opened, books, PIN)).rejects.toMatchObject({ problem: { code: "server-failed" } });
});

test("what is looked at before a further change is signed is told which change of its own came last", async () => {
  const { opened, books } = site(() => true);
  // Two changes for one wish.
  const changes = (await books.changes({} as never, null, PIN))!;
  const { stored } = changes;
  let left = 2;
  Object.assign(changes, {
    stored: (there: Uint8Array) => { left -= 1; return stored(there); },
    next: () => (left > 0 ? { message: null } : null),
  });
  const told: (number | null)[] = [];
  await change(opened, books, PIN, async (own) => void told.push(own));
  expect(told).toEqual([null, 3]);
});

test("what is signed anew behind another writer's change is looked at anew before, and not signed if it does not fit any more", async () => {
  const { opened, books, stored } = site((key, stored) => {
    if (key === "changes/3") stored.set(key, Uint8Array.of(99));
    return key !== "changes/3";
  });
  let looks = 0;
  const check = async () => { if ((looks += 1) === 2) throw new Error("other rules are in force"); };
  await expect(change(opened, books, PIN, check)).rejects.toThrow("other rules are in force");
  expect([...stored.keys()]).toEqual(["changes/3"]);
});
