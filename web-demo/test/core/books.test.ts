import { describe, expect, test, vi } from "vitest";

import { Control } from "../../src/core/coordinator/control";
import type { Opened } from "../../src/core/coordinator/opened";
import type { Listing, Wants } from "../../src/core/engine";

const LOST = "behind a/b, up to a/f: its bytes do not have its id";
const trees = vi.hoisted(() => ({ tree: null as unknown, snapshots: ["s"], freed: [] as string[], problems: [] as { key: string; code: string }[] }));

vi.mock("../../src/core/engine", () => ({
  Library: class {
    neededClients = () => [];
    neededManifests = () => [];
    problems = () => trees.problems;
    supply = () => {};
    #names = [...trees.snapshots];
    snapshots = () => this.#names.map((id) => ({ id, domain: "d", client: "c", label: "", paths: [], tags: [], unreadablePaths: [], changingPaths: [] }));
    tree = () => trees.tree;
    free = () => void trees.freed.push(this.#names.join());
  },
  // Finds a file in each of two parts, and between them what is lost; at a path nothing.
  Sweep: {
    below: (folder: string) => sweep(["a/b", "a/g"].filter((path) => folder === "" || path.startsWith(`${folder}/`))),
    at: () => sweep([]),
  },
}));

function sweep(paths: string[]) {
  const left = [...paths];
  return {
    add: () => {},
    free: () => {},
    next: (wants: Wants) => {
      const path = left.shift();
      const number = path === undefined ? null : wants(path, 0o100644, 5, 0);
      const found = number === null ? [] : [{ id: path, path, name: path, kind: "file", size: 5, modified: 0, target: null, mode: 0o644, number, content: null }];
      return { tree: 0, needs: [], found, again: [], damaged: [LOST], isDone: left.length === 0 };
    },
  };
}

const { Books } = await import("../../src/core/restore/books");
const { baseOf } = await import("../../src/core/restore/paths");

/** A tree of which a page is lost. */
function damaged() {
  const entry = (path: string) => ({ id: path, path, name: path, kind: "file", size: 5, modified: 0, target: null, mode: 0o644, uid: 0, gid: 0 });
  const answer = (paths: string[], next: string | null): Listing => ({ needs: [], entries: paths.map(entry), next, damaged: [LOST] }) as unknown as Listing;
  trees.tree = {
    list: (_: string, after: string | null) => answer(after ? ["a/g"] : ["a/b"], after ? null : "a/b"),
    entry: () => answer([], null),
    free: () => {},
  };
  const opened = { owner: {}, known: { descriptor: {} }, openView: async () => ({ want: () => {}, free: () => {} }), supply: async () => [], read: async () => new Uint8Array(1) };
  return new Books(opened as unknown as Opened);
}

describe("where a part of the tree is lost", () => {
  const told = [{ code: "damaged", subject: LOST }];

  test("a folder is listed with what is missing, up to as much as was asked for, in whatever parts the engine hands it over", async () => {
    expect(await damaged().directory("s", "a", null, 10)).toMatchObject({ entries: [{ path: "a/b" }, { path: "a/g" }], next: null, damage: told });
    expect(await damaged().directory("s", "a", null, 1)).toMatchObject({ entries: [{ path: "a/b" }], next: "a/b", damage: told });
  });

  test("a search tells it once, whatever it found", async () => {
    expect(await damaged().search("s", "a", "", new Control(), () => {})).toMatchObject({ hits: [{ path: "a/b" }, { path: "a/g" }], damage: told });
  });

  test("what is counted is said not to be all", async () => {
    expect(await damaged().measure("s", [""])).toMatchObject({ files: 2, bytes: 10, damage: told });
    expect(await damaged().measure("s", ["a/c"])).toMatchObject({ files: 0, damage: told });
  });

  test("a file that may have been there is damaged and not gone", async () => {
    await expect(damaged().part("s", "a/c", 0, 100)).rejects.toMatchObject({ problem: told[0] });
  });
});

describe("a folder that has no entry of its own", () => {
  test("is counted with what is in it", async () => {
    expect(await damaged().measure("s", ["a"])).toMatchObject({ files: 2, bytes: 10 });
  });

  test("is called by its name, and no folder above what was chosen is", async () => {
    const chosen = ["clients/Smith/photos", "clients/Smith/notes.txt"];
    expect(baseOf(chosen)).toBe("clients/Smith");
    expect(baseOf([`\0${Buffer.from("a/\xff/b", "latin1").toString("hex")}`])).toBe("a/\ufffd");
    expect(baseOf(["", "a/b"])).toBe("");
    expect(await damaged().tops("s", chosen)).toEqual(["photos", "notes.txt"]);
    expect(await damaged().naming("s", ["clients/Smith/photos"])).toEqual({ name: "photos.zip", isZip: true });
  });
});

test("descriptions that are too long are told apart from damage", async () => {
  trees.problems = [{ key: "manifests/c/1", code: "too-long" }, { key: "manifests/c/2", code: "damaged" }];
  const { damage } = await damaged().snapshots();
  trees.problems = [];
  expect(damage).toMatchObject([{ code: "descriptions-too-long", subject: "manifests/c/1" }, { code: "damaged", subject: "manifests/c/2" }]);
});

test("an answer that needs the same read again and again is given up", async () => {
  const books = damaged();
  Object.assign(trees.tree as object, { list: () => ({ needs: [{ key: "packs/1", start: 0, end: 1 }], entries: [], next: null, damaged: [] }) });
  await expect(books.directory("s", "a", null, 10)).rejects.toMatchObject({ problem: { code: "damaged", subject: "packs/1" } });
});

describe("while something is restored", () => {
  const ids = async (books: InstanceType<typeof Books>) => (await books.snapshots()).snapshots.map(({ id }) => id);
  /** Lists two snapshots, then begins to restore from one of them until `end` is called; by then there is another one, and that is gone. */
  const restoring = async () => {
    Object.assign(trees, { snapshots: ["s", "t"], freed: [] });
    const books = damaged();
    await ids(books);
    let end = () => {};
    const used = books.withTree("s", async (_, shelf) => {
      await new Promise<void>((resolve) => (end = resolve));
      return [...shelf.facts.keys()];
    });
    await vi.waitUntil(() => end.length === 1);
    trees.snapshots = ["t", "u"];
    return { books, used, end: () => end() };
  };

  test("the list is the newest one, and the restore goes on with what it has opened", async () => {
    const { books, used, end } = await restoring();
    expect(await ids(books)).toEqual(["t", "u"]);
    expect(await books.directory("u", "a", null, 10)).toMatchObject({ entries: [{ path: "a/b" }, { path: "a/g" }] });
    expect(trees.freed).toEqual([]);
    end();
    expect(await used).toEqual(["s", "t"]);
    expect(trees.freed).toEqual(["s,t"]);
    await ids(books);
    expect(trees.freed).toEqual(["s,t", "t,u"]);
  });

  test("the end of the session frees all that is open, once", async () => {
    const { books, used, end } = await restoring();
    await ids(books);
    books.free();
    end();
    await used;
    expect(trees.freed.sort()).toEqual(["s,t", "t,u"]);
  });
});

describe("a comparison", () => {
  const answer = (paths: string[], more: object = {}) => ({ needs: [], changes: paths.map((path) => ({ path, before: null, after: null, isMetadata: false })), isDone: false, ...more });
  /** Two snapshots, which the engine compares with these answers, one after another. */
  const comparing = (...answers: object[]) => {
    Object.assign(trees, { snapshots: ["s", "t"], freed: [] });
    const books = damaged();
    Object.assign(trees.tree as object, { compareWith: () => ({ next: () => answers.shift(), free: () => void trees.freed.push("comparison") }) });
    return books;
  };
  const pathsOf = (...pages: { changes: { path: string }[] }[]) => pages.flatMap(({ changes }) => changes.map(({ path }) => path));

  test("tells the changes of every answer; one that needs reads is asked for again", async () => {
    const needs = [{ key: "packs/1", start: 0, end: 1 }];
    const books = comparing(answer([], { needs }), answer(["a", "b"]), answer([], { needs }), answer(["c"], { isDone: true }));
    const first = await books.compare("s", "t", null, 10);
    const last = await books.compare("s", "t", first.next, 10);
    expect(pathsOf(first, last)).toEqual(["a", "b", "c"]);
    expect(last.next).toBeNull();
  });

  test("goes on while the list is read anew, and at its end lets go of what it has used", async () => {
    const books = comparing(answer(["a"]), answer(["b"], { isDone: true }));
    await books.snapshots();
    const first = await books.compare("s", "t", null, 10);
    trees.snapshots = ["t", "u"];
    await books.snapshots();
    expect(trees.freed).toEqual([]);
    expect(pathsOf(first, await books.compare("s", "t", first.next, 10))).toEqual(["a", "b"]);
    expect(trees.freed).toEqual(["comparison", "s,t"]);
  });

  test("that has not come to its end goes with the session, once", async () => {
    const books = comparing(answer(["a"]));
    await books.compare("s", "t", null, 10);
    books.free();
    expect(trees.freed).toEqual(["comparison", "s,t"]);
  });
});
