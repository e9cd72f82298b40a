import { describe, expect, test } from "vitest";

import { readExcludes } from "../../src/core/source/excludes";
import { compareNames, comparePaths, isGoodName } from "../../src/core/source/order";
import { ChosenList, type Listed, asking, columnsOf, filesOf, filesOfInput, handOut } from "../../src/core/source/list";
import { isShownWhole } from "../../src/core/source/shown";
import { type Scanned, ahead, scanHandle, scanList } from "../../src/core/source/tree";

const bytes = (text: string) => Buffer.from(text, "utf8");
const file = (text = "x", modified = 1_000) => new File([text], "f", { lastModified: modified });
const none = readExcludes([]);

/** A scan of files as the coordinator has them, which it asks the page for. */
async function* listed(files: Listed[], excludes: typeof none): AsyncGenerator<Scanned> {
  const kept = filesOf(files);
  const unread = () => Promise.reject(new Error("not here"));
  yield* scanList(new ChosenList(await columnsOf(kept), { open: async (number) => kept.at(number).file, read: unread }), excludes);
}

async function all(scan: AsyncIterable<Scanned>): Promise<string[]> {
  const found: string[] = [];
  for await (const item of scan) found.push(item.kind === "left-out" ? `${item.why}:${item.path}` : item.kind === "directory" ? `${item.path}/` : item.path);
  return found;
}

describe("order", () => {
  test("names sort as their UTF-8 bytes do, also where UTF-16 differs", () => {
    const names = ["z", "a", "\u{1f600}", "\uffee", "\ue000", "é", "ab", "a.b", "A", "\ud7ff", "~", "\u{10000}"];
    const expected = [...names].sort((a, b) => Buffer.compare(bytes(a), bytes(b)));
    expect([...names].sort(compareNames)).toEqual(expected);
    expect([...names].sort()).not.toEqual(expected);
  });

  test("what is in a directory follows it at once", () => {
    expect(["a.b", "a", "a/b", "a-b", "a/b/c", "b"].sort(comparePaths)).toEqual(["a", "a/b", "a/b/c", "a-b", "a.b", "b"]);
  });

  test("names that cannot be restored everywhere are none", () => {
    for (const name of ["", ".", "..", "a/b", "a\0b", "\ud800", "\udc00a", "a\ud800b"]) expect(isGoodName(name), JSON.stringify(name)).toBe(false);
    for (const name of ["a", ".a", "...", "\u{1f600}", "a b", "ä", "\\"]) expect(isGoodName(name), name).toBe(true);
  });
});

describe("excludes", () => {
  const isOut = (patterns: string[], path: string, isDirectory = false) => readExcludes(patterns)(path, isDirectory);

  test("a pattern without a slash is meant at every depth", () => {
    expect(isOut(["*.tmp"], "a/b/c.tmp")).toBe(true);
    expect(isOut(["*.tmp"], "c.tmpx")).toBe(false);
    expect(isOut(["a?c"], "x/abc")).toBe(true);
  });

  test("what stands in brackets is a character of a name", () => {
    expect(isOut(["build[!s]*"], "x/buildx")).toBe(true);
    expect(isOut(["build[!s]*"], "build/x.c")).toBe(false);
    expect(isOut(["a[+-9]b"], "a5b")).toBe(true);
    expect(isOut(["a[+-9]b"], "a/b")).toBe(false);
  });

  test("a slash ties a pattern to the top, and one at the end to directories", () => {
    expect(isOut(["/build"], "build")).toBe(true);
    expect(isOut(["/build"], "a/build")).toBe(false);
    expect(isOut(["a/*.o"], "a/b/c.o")).toBe(false);
    expect(isOut(["node_modules/"], "x/node_modules", true)).toBe(true);
    expect(isOut(["node_modules/"], "x/node_modules", false)).toBe(false);
  });

  test("what is no sound set of signs is not more than it says", () => {
    expect(isOut(["[z-a]", "*.tmp"], "z")).toBe(false);
    expect(isOut(["[z-a]", "*.tmp"], "z.tmp")).toBe(true);
    expect(isOut(["[!].txt"], "a.txt")).toBe(false);
    expect(isOut(["[!].txt"], "[!].txt")).toBe(true);
    expect(isOut(["[!]a].txt"], "b.txt")).toBe(true);
    expect(isOut(["[!]a].txt"], "].txt")).toBe(false);
  });

  test("many stars take no longer than few", () => {
    expect(isOut([`${"*".repeat(60)}b`], "a".repeat(200))).toBe(false);
  });

  test("two stars are any depth, and the last match decides", () => {
    expect(isOut(["a/**/b"], "a/b")).toBe(true);
    expect(isOut(["a/**/b"], "a/x/y/b")).toBe(true);
    expect(isOut(["a/**"], "a/x/y")).toBe(true);
    expect(isOut(["*.log", "!keep.log"], "keep.log")).toBe(false);
    expect(isOut(["!keep.log", "*.log"], "keep.log")).toBe(true);
  });

  test("two stars in a name are one star", () => {
    expect(isOut(["a**b"], "x/ayb")).toBe(true);
    expect(isOut(["a**b"], "ax/yb")).toBe(false);
    expect(isOut(["a**"], "ax/y")).toBe(false);
    expect(isOut(["a**/b"], "ab")).toBe(false);
    expect(isOut(["a**/b"], "ax/b")).toBe(true);
    expect(isOut(["x/**b"], "x/yb")).toBe(true);
    expect(isOut(["x/**b"], "x/y/zb")).toBe(false);
    expect([isOut(["x/***/b"], "x/y/b"), isOut(["x/***/b"], "x/y/z/b")]).toEqual([true, false]);
    expect([isOut(["**/b"], "x/y/b"), isOut(["**/b"], "b"), isOut(["**"], "x/y")]).toEqual([true, true, true]);
  });

  test("sets, quoted signs, comments and empty lines mean what they say", () => {
    expect(isOut(["[ab].txt"], "a.txt")).toBe(true);
    expect(isOut(["[!ab].txt"], "a.txt")).toBe(false);
    expect(isOut(["[a-c]"], "b")).toBe(true);
    expect(isOut(["# a", "", "\\#b"], "#b")).toBe(true);
    expect(isOut(["a(b)+c"], "a(b)+c")).toBe(true);
    expect(isOut(["[", "a]"], "[")).toBe(true);
  });
});

describe("scan", () => {
  test("a list comes in tree order, with the directories that its paths name", async () => {
    const paths = ["P/b/z.txt", "P/a.txt", "P/b.txt", "P/\u{1f600}", "P/\uffee", "P/b/a/q"];
    const found = await all(listed(paths.map((path) => ({ path, file: file() })), none));
    expect(found).toEqual(["P/", "P/a.txt", "P/b/", "P/b/a/", "P/b/a/q", "P/b/z.txt", "P/b.txt", "P/\uffee", "P/\u{1f600}"]);
  });

  test("what is excluded is named once, whatever it holds", async () => {
    const paths = ["P/n/a/x", "P/n/b", "P/a.tmp", "P/o/c"];
    const found = await all(listed(paths.map((path) => ({ path, file: file() })), readExcludes(["n/", "*.tmp"])));
    expect(found).toEqual(["P/", "excluded:P/a.tmp", "excluded:P/n", "P/o/", "P/o/c"]);
  });

  test("what is chosen is never left out itself, only what is in it", async () => {
    const chosen = ["P/a", "P/b.jpg", "single"].map((path) => ({ path, file: file() }));
    const found = ["P/", "excluded:P/a", "P/b.jpg", "single"];
    expect(await all(listed(chosen, readExcludes(["*", "!*.jpg"])))).toEqual(found);
    expect(await all(listed(chosen, readExcludes(["**", "!*.jpg"])))).toEqual(found);
  });

  test("names that nothing could restore are left out and named", async () => {
    const found = await all(listed([{ path: "P/\ud800", file: file() }, { path: "P/ok", file: file() }], none));
    expect(found).toEqual(["P/", "P/ok", "bad-name:P/\ud800"]);
  });

  test("a file and a directory of one name do not both come", async () => {
    const found = await all(listed([{ path: "a", file: file() }, { path: "a/b", file: file() }], none));
    expect(found).toEqual(["a", "bad-name:a/b"]);
  });

  test("of two files at one path the first is saved and the other one named", async () => {
    const [report, other, photo] = [file("from here"), file("from there"), file()];
    const files = [{ path: "report.pdf", file: report }, { path: "photos/1.jpg", file: photo }, { path: "report.pdf", file: other }, { path: "photos/1.jpg", file: file() }];
    expect(await all(listed(files, none))).toEqual(["photos/", "photos/1.jpg", "bad-name:photos/1.jpg", "report.pdf", "bad-name:report.pdf"]);
    for await (const item of listed(files, none)) if (item.kind === "file" && item.path === "report.pdf") expect(await item.open()).toBe(report);
  });

  test("one file that was chosen twice is saved once", async () => {
    const [one, other] = [file(), file("y")];
    const files = [one, one, other, one, other].map((file) => ({ path: "a", file }));
    expect(await all(listed(files, none))).toEqual(["a", "bad-name:a"]);
  });

  test("files at one path that are left out on purpose are no trouble", async () => {
    const files = [{ path: "P/a.tmp", file: file() }, { path: "P/a.tmp", file: file("y") }, { path: "P/n/b", file: file() }, { path: "P/n/b", file: file("y") }];
    expect(await all(listed(files, readExcludes(["n/", "*.tmp"])))).toEqual(["P/", "excluded:P/a.tmp", "excluded:P/a.tmp", "excluded:P/n"]);
  });

  test("a directory handle is listed with its empty folders, and what cannot be read is named", async () => {
    const broken = { kind: "file", getFile: () => Promise.reject(new DOMException("", "NotReadableError")) };
    const root = folder({ "b.txt": handleOf(file()), b: folder({ empty: folder({}) }), "a\u{1f600}": handleOf(file()), broken });
    expect(await all(scanHandle("P", root, none))).toEqual(["P/", "P/a\u{1f600}", "P/b/", "P/b/empty/", "P/b.txt", "unreadable:P/broken"]);
  });

  test("a name with a backslash is the name that the file has", () => {
    const chosen = (name: string, webkitRelativePath: string) => Object.defineProperty(new File([], name), "webkitRelativePath", { value: webkitRelativePath });
    const files = [chosen("a\\b", "P/d/a/b"), chosen("b", "P/d/a/b"), chosen("c", ""), chosen("x\\y", "")] as unknown as FileList;
    expect([0, 1, 2, 3].map((at) => filesOfInput(files).at(at).path)).toEqual(["P/d/a\\b", "P/d/a/b", "c", "x\\y"]);
  });

  test("what the browser named and did not hand out is named, unless it is left out on purpose", async () => {
    const list = new ChosenList(await columnsOf(filesOf([])), { open: () => Promise.reject(new Error()), read: () => Promise.reject(new Error()) });
    const unreadable = ["P/pipe", "P/cache/x", "P/a.tmp", "single.tmp"].map((path) => ({ path, reason: "TypeMismatchError" }));
    expect(await all(scanList(list, readExcludes(["cache/", "*.tmp"]), unreadable))).toEqual(["unreadable:P/pipe", "unreadable:single.tmp"]);
  });

  test("a handle that hides a name of its directory, or of one below, does not show it whole", async () => {
    const both = (hidden: string[]) => {
      const content = { "b.txt": handleOf(file()), n: folder({ "why?": handleOf(file()), m: folder({ deep: handleOf(file()) }) }) };
      return isShownWhole(without(folder(content), hidden), entryOf("P", folder(content)));
    };
    expect(await both([])).toBe(true);
    expect(await both(["why?"])).toBe(false);
    expect(await both(["deep"])).toBe(false);
    expect(await both(["n"])).toBe(false);
    // That of a directory which nobody can list the backup names.
    const closed = { kind: "directory", entries: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new DOMException("", "NotAllowedError")) }) }) };
    expect(await isShownWhole(folder({ closed }), entryOf("P", folder({ closed: folder({ x: handleOf(file()) }) })))).toBe(true);
  });

  test("a hundred thousand files are scanned in order", async () => {
    const one = file();
    const files = Array.from({ length: 100_000 }, (_, at) => ({ path: `P/${at % 300}/${at}`, file: one }));
    const found = await all(listed(files, none));
    expect(found.length).toBe(100_000 + 300 + 1);
    const sorted = [...found].map((path) => path.replace(/\/$/, ""));
    expect(sorted.every((path, at) => at === 0 || comparePaths(sorted[at - 1]!, path) < 0)).toBe(true);
  });

  test("what an earlier attempt has asked for is not taken for what the next one asks for", async () => {
    const wishes: { id: number; number: number }[] = [];
    const port = { postMessage: (asked: typeof wishes) => void wishes.push(...asked), onmessage: null } as unknown as MessagePort;
    void asking(port).read(0);
    await new Promise((resolve) => setTimeout(resolve));
    const second = asking(port).read(1);
    await new Promise((resolve) => setTimeout(resolve));
    const answer = (at: number) => ({ id: wishes[at]!.id, content: { bytes: Uint8Array.of(wishes[at]!.number), modified: 1 } });
    port.onmessage!({ data: [answer(0), answer(1)] } as MessageEvent);
    expect((await second).bytes).toEqual(Uint8Array.of(1));
  });

  test("a file of a list is asked for when it is read, and comes as what it is", async () => {
    const files = filesOf(["one", "two", "three"].map((text, at) => ({ path: `P/${text}`, file: file(text, at) })));
    const { port1, port2 } = new MessageChannel();
    handOut(files, port1);
    const list = new ChosenList(await columnsOf(files), asking(port2));
    expect(Array.from({ length: 3 }, (_, at) => [list.path(at), list.size(at), list.modified(at)])).toEqual([["P/one", 3, 0], ["P/two", 3, 1], ["P/three", 5, 2]]);
    const read = await Promise.all([2, 0, 2, 1].map((at) => list.giver.read(at)));
    const text = ({ bytes, modified }: { bytes: Uint8Array; modified: number }) => `${new TextDecoder().decode(bytes)} ${modified}`;
    expect(read.map(text)).toEqual(["three 2", "one 0", "three 2", "two 1"]);
    port1.close();
  });

  test("a list tells sizes and times as they are now, where the browser can give a file anew", async () => {
    const entry = (file: FileSystemFileEntry["file"]) => ({ file }) as FileSystemFileEntry;
    const files = filesOf([
      { path: "P/written to", file: file("before", 1), entry: entry((told) => told(file("and after", 2))) },
      { path: "P/gone", file: file("gone", 3), entry: entry((_, failed) => failed?.(new DOMException("", "NotFoundError"))) },
      { path: "P/of an input", file: file("as it was", 4) },
    ]);
    const { sizes, times } = await columnsOf(files);
    expect([Array.from(sizes), Array.from(times)]).toEqual([[9, 4, 9], [2, 3, 4]]);
  });

  test("the time of a file is not later than its bytes: one that is written while it is read is another file the next time", async () => {
    // Browsers ask the disk for the time as it is then; here somebody writes when the reading begins.
    class Written extends File {
      #writes = 0;
      override get size() { return (this.#writes += 1, super.size); }
      override get lastModified() { return this.#writes; }
    }
    const files = filesOf(["one", "three"].map((text) => ({ path: `P/${text}`, file: new Written([text], text) })));
    for (const wanted of [[0, 1], [0]]) {
      const { port1, port2 } = new MessageChannel();
      handOut(files, port1);
      const giver = asking(port2);
      // It is asked once before whether the file is empty.
      const before = wanted.map((at) => files.at(at).file.lastModified + 1);
      const read = await Promise.all(wanted.map((at) => giver.read(at)));
      expect(read.map(({ modified }) => modified)).toEqual(before);
      port1.close();
    }
  });

  test("what is asked for at once goes and comes in one message, and shares a buffer", async () => {
    const files = filesOf(["one", "", "three"].map((text, at) => ({ path: `P/${at}`, file: file(text, at) })));
    const { port1, port2 } = new MessageChannel();
    handOut(files, port1);
    const giver = asking(port2);
    let messages = 0;
    const take = port2.onmessage!;
    port2.onmessage = (event) => (messages++, take.call(port2, event));
    const [read, opened] = await Promise.all([Promise.all([0, 1, 2].map((at) => giver.read(at))), giver.open(2)]);
    expect(messages).toBe(1);
    expect(read.map(({ bytes, modified }) => `${new TextDecoder().decode(bytes)} ${modified}`)).toEqual(["one 0", " 1", "three 2"]);
    expect(new Set(read.map(({ bytes }) => bytes.buffer)).size).toBe(1);
    expect(await opened.text()).toBe("three");
    port1.close();
  });

  test("a file of a list that cannot be read is told by the browser's name for it, and the others come", async () => {
    const gone = Object.defineProperty(file(), "size", { value: 2 });
    gone.arrayBuffer = () => Promise.reject(new DOMException("", "NotReadableError"));
    const files = filesOf([gone, file("there")].map((file, at) => ({ path: `P/${at}`, file })));
    const { port1, port2 } = new MessageChannel();
    handOut(files, port1);
    const giver = asking(port2);
    const [first, second] = [giver.read(0), giver.read(1)];
    await expect(first).rejects.toMatchObject({ name: "NotReadableError" });
    expect((await second).bytes.length).toBe(5);
    port1.close();
  });

  test("work ahead keeps the order and its bound", async () => {
    let running = 0;
    let most = 0;
    const items = (async function* () {
      for (let at = 0; at < 50; at++) yield at;
    })();
    const results: number[] = [];
    const work = async (item: number) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, (item * 7) % 5));
      running--;
      return item;
    };
    for await (const result of ahead(items, 8, work)) results.push(result);
    expect(results).toEqual(Array.from({ length: 50 }, (_, at) => at));
    expect(most).toBe(8);
  });
});

function handleOf(content: File): unknown {
  return { kind: "file", getFile: async () => content };
}

function folder(children: Record<string, unknown>): FileSystemDirectoryHandle {
  const handle = {
    kind: "directory",
    async *entries() {
      yield* Object.entries(children);
    },
  };
  return handle as unknown as FileSystemDirectoryHandle;
}

/** The same handle as it is shown where names are hidden. */
function without(handle: FileSystemDirectoryHandle, hidden: string[]): FileSystemDirectoryHandle {
  const shown = {
    kind: "directory",
    async *entries() {
      for await (const [name, child] of handle.entries()) {
        if (!hidden.includes(name)) yield [name, child.kind === "directory" ? without(child as FileSystemDirectoryHandle, hidden) : child];
      }
    },
  };
  return shown as unknown as FileSystemDirectoryHandle;
}

/** The entry of a directory as a drop gives it: what is in it comes one at a time. */
function entryOf(name: string, handle: FileSystemDirectoryHandle): FileSystemDirectoryEntry {
  const createReader = () => {
    const names = handle.entries()[Symbol.asyncIterator]();
    const readEntries = async (told: (batch: unknown[]) => void) => {
      const { done, value } = await names.next();
      const kindOf = ([name, child]: [string, FileSystemHandle]) => (child.kind === "directory" ? entryOf(name, child as FileSystemDirectoryHandle) : { name, isFile: true, isDirectory: false });
      told(done ? [] : [kindOf(value)]);
    };
    return { readEntries };
  };
  return { name, isFile: false, isDirectory: true, createReader } as unknown as FileSystemDirectoryEntry;
}
