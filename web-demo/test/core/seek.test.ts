import { describe, expect, test, vi } from "vitest";

import type { Seek, Snapshot } from "../../src/core/api";
import { Control } from "../../src/core/coordinator/control";
import type { Swept, Wants } from "../../src/core/engine";
import type { Books } from "../../src/core/restore/books";

vi.mock("../../src/core/engine", () => ({ Sweep: { below: () => ({}) }, Library: class {} }));

const { fileKind, seek, wanting } = await import("../../src/core/restore/seek");

const ASKED: Seek = { name: "", kind: null, modifiedFrom: null, modifiedTo: null, sizeFrom: null, series: null };
const [FILE, FOLDER, LINK] = [0o100644, 0o040755, 0o120777];

describe("what is wanted", () => {
  const is = (asked: Partial<Seek>, id = "a/b.jpg", mode = FILE, size = 1_000, modified = 50) => wanting({ ...ASKED, ...asked })(id, mode, size, modified);

  test("lies between two times, both included", () => {
    expect([49, 50, 51].map((modifiedFrom) => is({ modifiedFrom }))).toEqual([true, true, false]);
    expect([49, 50, 51].map((modifiedTo) => is({ modifiedTo }))).toEqual([false, true, true]);
    expect(is({ modifiedTo: 51 }, "a", FILE, 1, 0), "a time that nobody knows").toBe(false);
  });
  test("is at least so large, and then a file", () => {
    expect([999, 1_000, 1_001].map((sizeFrom) => is({ sizeFrom }))).toEqual([true, true, false]);
    expect(is({ sizeFrom: 1 }, "a", FOLDER, 10)).toBe(false);
  });
  test("is of a kind, by its name's ending", () => {
    expect(is({ kind: "picture" })).toBe(true);
    expect(is({ kind: "picture" }, "a/b.JPG")).toBe(true);
    expect(is({ kind: "picture" }, "a.jpg", FOLDER)).toBe(false);
    expect(is({ kind: "folder" }, "a.jpg", FOLDER)).toBe(true);
    expect(is({ kind: "other" }, "a.jpg", LINK)).toBe(true);
    expect(["x.tar.gz", "x.MKV", "x.odt", ".mp3", "mp3", "x."].map(fileKind)).toEqual(["archive", "video", "document", "other", "other", "other"]);
  });
  test("is called so in its last name only", () => {
    expect(is({ name: "b" })).toBe(true);
    expect(is({ name: "a" })).toBe(false);
  });
});

/** Trees that a sweep goes through, each with pages of paths. A page that was there before is told again. */
function over(trees: string[][][], series: string[]): Books {
  const known = series.map((series, at) => ({ id: `s${at}`, series }) as Snapshot);
  return {
    known: async () => known,
    sweep: async (ids: string[], _: unknown, wants: Wants, __: unknown, take: (part: Swept) => boolean) => {
      const seen = new Map<string, number[]>();
      ids.forEach((id, tree) => {
        const part: Swept = { tree, needs: [], found: [], again: [], damaged: [], isDone: tree === ids.length - 1 };
        for (const page of trees[Number(id.slice(1))]!) {
          const before = seen.get(page.join());
          if (before) part.again.push(...before);
          const hits = before ?? [];
          for (const path of before ? [] : page) {
            const number = wants(path, FILE, tree, 1);
            if (number === null) continue;
            hits.push(number);
            part.found.push({ id: path, path, name: path, kind: "file", size: tree, modified: 1, target: null, mode: 0, uid: 0, gid: 0, number, content: null });
          }
          seen.set(page.join(), hits);
        }
        take(part);
      });
    },
  } as unknown as Books;
}

describe("a search in many snapshots", () => {
  const find = async (books: Books, asked: Partial<Seek> = {}) => {
    const result = await seek(books, { ...ASKED, ...asked }, new Control(), () => {});
    return { ...result, hits: result.hits.map(({ entry, newest, oldest, count }) => `${entry.path} ${entry.size} ${newest}-${oldest} x${count}`) };
  };

  test("tells each path once for a series, as the newest snapshot has it", async () => {
    const books = over([[["a", "b"], ["c"]], [["a", "b"]], [["a"], ["c"]]], ["x", "x", "x"]);
    expect(await find(books)).toMatchObject({ hits: ["a 0 s0-s2 x3", "b 0 s0-s1 x2", "c 0 s0-s2 x2"], looked: 3, total: 3, more: false });
  });
  test("tells the same path of two devices twice", async () => {
    const books = over([[["a"]], [["a"]], [["a", "b"]]], ["x", "y", "y"]);
    expect((await find(books)).hits).toEqual(["a 0 s0-s0 x1", "a 0 s1-s2 x2", "b 2 s2-s2 x1"]);
    expect((await find(books, { series: "y" })).hits).toEqual(["a 0 s1-s2 x2", "b 1 s2-s2 x1"]);
  });
  test("tells a path of each series as that one has it, also where it shares a page with an older one of another", async () => {
    const books = over([[["a"]], [["a", "b"]], [["a", "c"]], [["a", "b"]]], ["x", "x", "y", "z"]);
    expect((await find(books)).hits).toEqual(["a 0 s0-s1 x2", "b 1 s1-s1 x1", "a 2 s2-s2 x1", "c 2 s2-s2 x1", "a 1 s3-s3 x1", "b 1 s3-s3 x1"]);
  });
  test("ends with a thousand paths, and says that there are more", async () => {
    const many = Array.from({ length: 1_001 }, (_, at) => `f${at}`);
    expect(await find(over([[many], [["f7"], ["new"]]], ["x", "x"]))).toMatchObject({ more: true, hits: expect.arrayContaining(["f7 0 s0-s1 x2"]) });
    expect((await find(over([[many.slice(1)]], ["x"]))).more).toBe(false);
  });
});
