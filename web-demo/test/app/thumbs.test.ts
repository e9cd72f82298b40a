import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Entry, Thumbnail } from "../../src/core/api";
import { Thumbs } from "../../src/app/thumbs";

let addresses: Set<string>;
beforeEach(() => {
  vi.useFakeTimers();
  addresses = new Set();
  let next = 0;
  vi.spyOn(URL, "createObjectURL").mockImplementation(() => {
    addresses.add(`blob:${next}`);
    return `blob:${next++}`;
  });
  vi.spyOn(URL, "revokeObjectURL").mockImplementation((address) => void addresses.delete(address));
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const blob = (size: number) => ({ picture: { size } as Blob });

test("what comes into view together is asked for together, eight at once, and what left again is not asked for", async () => {
  const asked: string[][] = [];
  const thumbs = new Thumbs({ thumbnails: async (_, files) => { asked.push(files); return files.map(() => blob(10)); } });
  for (let i = 0; i < 20; i++) thumbs.want("s", `${i}`);
  for (let i = 3; i < 9; i++) thumbs.leave("s", `${i}`);
  await vi.runAllTimersAsync();
  expect(asked).toEqual([["0", "1", "2", "9", "10", "11", "12", "13"], ["14", "15", "16", "17", "18", "19"]]);
});

test("a picture is there when it comes, and whoever wants it again does not wait", async () => {
  const thumbnails = vi.fn(async (): Promise<Thumbnail[]> => [blob(10)]);
  const thumbs = new Thumbs({ thumbnails });
  const thumb = thumbs.want("s", "a");
  expect(thumb.value).toBe(null);
  await vi.runAllTimersAsync();
  expect(thumb.value).toEqual({ address: "blob:0" });
  thumbs.leave("s", "a");
  expect(thumbs.want("s", "a").value).toEqual({ address: "blob:0" });
  await vi.runAllTimersAsync();
  expect(thumbnails).toHaveBeenCalledTimes(1);
});

test("of pictures that are out of view 16 MiB stay, those that were wanted last", async () => {
  const thumbs = new Thumbs({ thumbnails: async (_, files) => files.map(() => blob(1 << 20)) });
  for (let i = 0; i < 40; i++) {
    thumbs.want("s", `${i}`);
    await vi.runAllTimersAsync();
    thumbs.leave("s", `${i}`);
  }
  expect(addresses.size).toBe(16);
  expect(thumbs.want("s", "39").value).toEqual({ address: "blob:39" });
  expect(thumbs.want("s", "0").value).toBe(null);
});

test("a page that locks keeps none, and takes none that comes late", async () => {
  let answer: (found: Thumbnail[]) => void = () => {};
  const thumbs = new Thumbs({ thumbnails: () => new Promise((resolve) => (answer = resolve)) });
  const [first, late] = [thumbs.want("s", "a"), vi.fn()];
  await vi.runAllTimersAsync();
  answer([blob(10)]);
  await vi.runAllTimersAsync();
  thumbs.want("s", "b").subscribe(late);
  await vi.runAllTimersAsync();
  thumbs.forget();
  answer([blob(10)]);
  await vi.runAllTimersAsync();
  expect([first.value, addresses.size]).toEqual([null, 0]);
  expect(late).toHaveBeenCalledTimes(1);
});

test("only of what a name calls a picture one is asked for", () => {
  const entry = (name: string, size = 5) => ({ kind: "file", name, size }) as Entry;
  expect(["a.JPG", "b.webp", "c.png"].map((name) => Thumbs.mayHave(entry(name)))).toEqual([true, true, true]);
  expect([entry("a.svg"), entry("a.html"), entry("jpg"), entry("a.jpg", 0), { ...entry("a.jpg"), kind: "directory" as const }].map((one) => Thumbs.mayHave(one))).toEqual([false, false, false, false, false]);
});
