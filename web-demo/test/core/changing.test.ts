import { afterEach, expect, test, vi } from "vitest";

import { beginChanging, isAsRead, settled } from "../../src/core/backup/changing";
import type { Opened } from "../../src/core/backup/reading";
import type { Labour } from "../../src/core/work/pool";
import type { Slices } from "../../src/core/work/protocol";

/** A file that is written to each time it is looked at as often as it is said; a `File` of before is refused, as Chromium does. */
function writing(states: string[], content = (at: number) => `state ${at}`) {
  let at = -1;
  const refused = () => Promise.reject(new DOMException("", "NotReadableError"));
  const open = async () => {
    at = Math.min(at + 1, states.length - 1);
    const [mine, how] = [at, states[at]!];
    const file = new File([content(mine)], "log", { lastModified: mine });
    if (how === "gone") throw new DOMException("", "NotFoundError");
    const part = file.slice.bind(file);
    file.slice = (...args) => (how === "stale" ? Object.assign(new Blob(), { arrayBuffer: refused }) : part(...args));
    return file;
  };
  return { open, opened: () => at + 1 };
}

const labour = { read: async (files: Uint8Array<ArrayBuffer>[]) => files.map((bytes) => ({ kind: "inline", bytes })) } as unknown as Labour;
const NOW = 1_000_000;
const failed: Opened = { at: NOW, size: 0, modified: 0, read: { kind: "failed", reason: "NotReadableError" }, spent: null };

function read(text: string, modified: number): Opened {
  const bytes = new TextEncoder().encode(text);
  return { at: NOW, size: bytes.length, modified, read: { kind: "inline", bytes }, spent: null };
}

afterEach(() => void vi.useRealTimers());

const textOf = ({ read }: Opened) => (read.kind === "inline" ? new TextDecoder().decode(read.bytes) : read.kind);

test("a file that nobody has written to for long is not opened again", async () => {
  const first = read("old", 1);
  const { open, opened } = writing(["gone"]);
  expect(await settled(first, open, labour)).toEqual({ found: first, isChanging: false });
  expect(opened()).toBe(0);
});

test("a file that was written to just before it was read is looked at again, however long it waits to be taken", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW + 3_600_000 });
  const file = writing(["as it is"]);
  const { found } = await settled(read("a mixture", NOW - 1_000), file.open, labour);
  expect(textOf(found)).toBe("state 0");
});

test("a file that was written to a moment ago is read again until it stays as it was read, and is then as any other", async () => {
  const file = writing(["as it is"]);
  const { found, isChanging } = await settled(read("before", NOW), file.open, labour);
  expect([textOf(found), found.modified, isChanging]).toEqual(["state 0", 0, false]);
});

test("of a file that is written to each time the last reading is kept, with its own time, and it is told", async () => {
  // When it is read anew, it was written to a moment ago.
  vi.useFakeTimers({ toFake: ["Date"], now: 0 });
  // Looked at, read, looked at, read, looked at.
  const { open } = writing(Array(100).fill("fresh"), (at) => "x".repeat(at + 1));
  const { found, isChanging } = await settled(read("first", NOW), open, labour);
  expect([textOf(found), found.size, found.modified, isChanging]).toEqual(["xxxx", 4, 3, true]);
});

test("a reading that comes too late is tried again at once, and what was read before is not given up for one that fails", async () => {
  const late = writing(["stale", "stale", "stale", "fresh"]);
  expect(textOf((await settled(failed, late.open, labour)).found)).toBe("state 3");
  const gone = writing(["fresh", "gone"]);
  const { found, isChanging } = await settled(read("whole", NOW), gone.open, labour);
  expect([textOf(found), isChanging]).toEqual(["whole", false]);
});

test("a file is tried as long as somebody writes to it each time it is opened", async () => {
  const busy = writing([...Array(50).fill("stale"), "fresh"]);
  expect(textOf((await settled(failed, busy.open, labour)).found)).toBe("state 50");
});

test("a file that cannot be read though nobody writes to it is not tried again and again", async () => {
  let opened = 0;
  const open = async () => {
    opened += 1;
    const file = new File(["x"], "closed", { lastModified: 5 });
    file.slice = () => Object.assign(new Blob(), { arrayBuffer: () => Promise.reject(new DOMException("", "NotReadableError")) });
    return file;
  };
  const { found, isChanging } = await settled(failed, open, labour);
  expect([found.read, isChanging]).toEqual([{ kind: "failed", reason: "NotReadableError" }, false]);
  expect(opened).toBeLessThan(6);
});

test("each part of a large file is of the file as it is then, and it ends where it ends now", async () => {
  const { open } = writing(["fresh", "stale", "fresh", "fresh", "fresh"], (at) => `${at}`.repeat(10 - at));
  let slices: Slices | null = null;
  const begun = await beginChanging(open, { stream: (of: Slices) => void (slices = of) } as unknown as Labour);
  expect([begun.size, begun.modified]).toEqual([10, 0]);
  const text = async (start: number, end: number) => new TextDecoder().decode(await slices!.read(start, end));
  expect([await text(0, 4), await text(4, 8), await text(6, 10)]).toEqual(["2222", "333", ""]);
});

test("a part that takes longer than the file stays as it is comes in smaller parts", async () => {
  const content = "0123456789abcdef".repeat(1 << 16);
  let modified = 0;
  const asked: number[] = [];
  const open = async () => {
    const file = new File([content], "log", { lastModified: modified++ });
    const part = file.slice.bind(file);
    file.slice = (start, end) => {
      asked.push(end! - start!);
      const refused = () => Promise.reject(new DOMException("", "NotReadableError"));
      return end! - start! > 300_000 ? Object.assign(new Blob(), { arrayBuffer: refused }) : part(start, end);
    };
    return file;
  };
  let slices: Slices | null = null;
  await beginChanging(open, { stream: (of: Slices) => void (slices = of) } as unknown as Labour);
  const read = await slices!.read(16, 16 + 1_000_000);
  expect(new TextDecoder().decode(read)).toBe(content.slice(16, 16 + 1_000_000));
  expect(asked).toEqual([1_000_000, 500_000, 250_000, 250_000, 250_000, 250_000]);
});

test("a file is as it was read if its size and time are the same, or it has gone", async () => {
  const open = async () => new File(["four"], "f", { lastModified: 7 });
  expect(await isAsRead(open, { size: 4, modified: 7 })).toBe(true);
  expect(await isAsRead(open, { size: 4, modified: 6 })).toBe(false);
  expect(await isAsRead(open, { size: 3, modified: 7 })).toBe(false);
  expect(await isAsRead(() => Promise.reject(new DOMException("", "NotFoundError")), { size: 3, modified: 7 })).toBe(true);
});
