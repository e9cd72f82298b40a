import { describe, expect, test, vi } from "vitest";

import { Control } from "../../src/core/coordinator/control";
import type { Item } from "../../src/core/backup/reading";
import type { FactsColumns, FileFacts } from "../../src/core/engine";
import type { Scanned } from "../../src/core/source/tree";
import type { Labour } from "../../src/core/work/pool";

vi.mock("../../src/core/engine", () => ({ inColumns: (files: FileFacts[]) => files }));

const { Reader, readAll } = await import("../../src/core/backup/reading");

/** An engine that says the same of every entry, or what it is told. */
function comparing(verdict: (file: FileFacts) => number) {
  return { compare: (columns: FactsColumns) => Uint8Array.from(columns as unknown as FileFacts[], verdict) };
}

/** A worker that reads in its own time, later files sooner. */
function labour(note: { files: number; most: number; bytes: number }): Labour {
  return {
    workers: 2,
    spent: { read: 0, hash: 0, compress: 0, seal: 0 },
    read: async (files) => {
      note.files += files.length;
      const lengths = files.reduce((sum, file) => sum + (file instanceof File ? file.size : file.length), 0);
      note.bytes += lengths;
      note.most = Math.max(note.most, note.bytes);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
      const contents = await Promise.all(files.map(async (file) => (file instanceof File ? new Uint8Array(await file.arrayBuffer()) : file)));
      note.bytes -= lengths;
      return contents.map((bytes) => ({ kind: "inline", bytes }));
    },
    stream: () => Promise.reject(new Error("not here")) as never,
    begin: () => {},
    seal: () => Promise.reject(new Error("not here")),
    end: () => {},
  };
}

function scanned(path: string, content: string): Scanned {
  return { kind: "file", path, size: content.length, modified: 5, open: async () => new File([content], path, { lastModified: 5 }) };
}

async function* all(items: Scanned[]): AsyncGenerator<Scanned> {
  yield* items;
}

const note = () => ({ files: 0, most: 0, bytes: 0 });

describe("reader", () => {
  test("items come in the scan's order, and only what has changed is read", async () => {
    const seen: string[] = [];
    const engine = comparing(({ path }) => {
      seen.push(path);
      return path.endsWith("0") ? 0 : 1;
    });
    const work = note();
    const reader = new Reader(engine, labour(work), new Control());
    const paths = Array.from({ length: 2_000 }, (_, at) => `P/${String(at).padStart(4, "0")}`);
    void reader.run(all([{ kind: "directory", path: "P" }, ...paths.map((path) => scanned(path, path))]));
    const items: Item[] = [];
    for await (const item of reader.items) {
      items.push(item);
      if (item.kind === "read") {
        const { read, size, modified } = await item.result;
        expect([size, modified]).toEqual([6, 5]);
        expect(read.kind === "inline" && new TextDecoder().decode(read.bytes)).toBe(item.facts.path);
        reader.taken(item);
      }
    }
    // The directory and the first file are as they were; after that every tenth file is.
    const first = [{ kind: "same", entries: 2, files: 1, bytes: 6 }, ...paths.slice(1, 10)];
    const tens = Array.from({ length: 199 }, (_, ten) => [{ kind: "same", entries: 1, files: 1, bytes: 6 }, ...paths.slice(10 * ten + 11, 10 * ten + 20)]);
    expect(items.map((item) => ("facts" in item ? item.facts.path : item))).toEqual([...first, ...tens.flat()]);
    expect(seen).toEqual(["P", ...paths]);
    expect(work.files).toBe(1_800);
    expect(reader.found).toEqual({ files: 2_000, bytes: 12_000, isComplete: true });
  });

  test("entries that are as they were come together, up to one that is not", async () => {
    const reader = new Reader(comparing(({ path }) => (path === "P/5" ? 1 : 0)), labour(note()), new Control());
    const entries = [...Array(9).keys()].map((at) => scanned(`P/${at}`, "x".repeat(at)));
    entries.splice(3, 0, { kind: "left-out", path: "P/3-", why: "bad-name", detail: null }, { kind: "directory", path: "P/3d" });
    void reader.run(all(entries));
    const items: unknown[] = [];
    for await (const item of reader.items) items.push(item.kind === "read" ? item.facts.path : item.kind === "left-out" ? item.found.path : item);
    expect(items).toEqual([{ kind: "same", entries: 3, files: 3, bytes: 3 }, "P/3-", { kind: "same", entries: 3, files: 2, bytes: 7 }, "P/5", { kind: "same", entries: 3, files: 3, bytes: 21 }]);
  });

  test("what is read ahead stays within its budget", async () => {
    const work = note();
    const reader = new Reader(comparing(() => 1), labour(work), new Control());
    const content = "x".repeat(1 << 20);
    void reader.run(all(Array.from({ length: 100 }, (_, at) => scanned(`P/${at}`, content))));
    let waiting = 0;
    for await (const item of reader.items) {
      if (item.kind !== "read") continue;
      await item.result;
      waiting += 1;
      reader.taken(item);
    }
    expect(waiting).toBe(100);
    expect(work.most).toBeLessThanOrEqual(32 << 20);
  });

  test("large files are begun before it is their turn, as many as the budget has room for, and given up if nobody takes them", async () => {
    const [begun, dropped]: [string[], string[]] = [[], []];
    const stream = (file: File) => {
      begun.push(file.name);
      return { next: async () => ({ done: true, value: undefined }), return: async () => void dropped.push(file.name) } as never;
    };
    const reader = new Reader(comparing(() => 1), { ...labour(note()), stream }, new Control());
    const large = (path: string): Scanned => ({ kind: "file", path, size: 5 << 20, modified: 1, open: async () => new File([], path) });
    const running = reader.run(all(["a", "b", "c", "d", "e"].map(large)));
    const items = reader.items[Symbol.asyncIterator]();
    const settled = () => new Promise((resolve) => setTimeout(resolve, 10));
    const first = (await items.next()).value as Extract<Item, { kind: "stream" }>;
    await settled();
    expect(begun).toEqual(["a", "b", "c"]);
    reader.taken(first);
    await settled();
    expect(begun).toEqual(["a", "b", "c", "d"]);
    reader.end(new Error("cancelled"));
    // The fifth file waits for room that nobody gives any more.
    await running;
    expect([begun, dropped]).toEqual([["a", "b", "c", "d"], ["b", "c", "d"]]);
  });

  test("entries that nobody takes do not gather, and all come once somebody does", async () => {
    let scanned = 0;
    const endless = (async function* (): AsyncGenerator<Scanned> {
      for (; scanned < 5_000; scanned++) yield { kind: "directory", path: `${scanned}` };
    })();
    const reader = new Reader(comparing(() => 0), labour(note()), new Control());
    void reader.run(endless);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(scanned).toBeLessThanOrEqual(2 * 512);
    let taken = 0;
    for await (const item of reader.items) taken += item.kind === "same" ? item.entries : 1;
    expect(taken).toBe(5_000);
  });

  test("what fails in the scan reaches whoever takes", async () => {
    const reader = new Reader(comparing(() => 0), labour(note()), new Control());
    const broken = (async function* () {
      yield scanned("a", "a");
      throw new DOMException("", "NotFoundError");
    })();
    void reader.run(broken);
    const take = async () => {
      for await (const _ of reader.items);
    };
    await expect(take()).rejects.toMatchObject({ name: "NotFoundError" });
  });

  test("a buffer that several files came in is spent with the last of them", async () => {
    const [both, alone] = [new Uint8Array(10), new Uint8Array(3)];
    const contents = [both.subarray(0, 4), both.subarray(4), alone];
    const opened = await readAll(contents.map((bytes) => async () => ({ bytes, modified: 7 })), {
      ...labour(note()),
      read: async (files) => (files as Uint8Array<ArrayBuffer>[]).map((bytes) => ({ kind: "inline", bytes })),
    });
    expect(opened.map(({ spent }) => spent)).toEqual([null, both.buffer, alone.buffer]);
    expect(opened.map(({ size, modified }) => [size, modified])).toEqual([[4, 7], [6, 7], [3, 7]]);
  });

  test("a file that cannot be opened does not keep the others from being read", async () => {
    const files = [async () => new File(["a"], "a"), () => Promise.reject(new DOMException("", "NotReadableError")), async () => new File(["b"], "b")];
    const opened = await readAll(files, labour(note()));
    expect(opened.map(({ read }) => (read.kind === "failed" ? read.reason : read.kind))).toEqual(["inline", "NotReadableError", "inline"]);
  });
});
