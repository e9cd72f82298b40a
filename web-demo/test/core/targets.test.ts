import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { EntryFacts } from "../../src/core/engine";
import { asFileName } from "../../src/core/restore/paths";
import type { Place } from "../../src/core/restore/place";
import { DirectoryTarget, type Existing, SingleTarget, type Target, ZipTarget, anotherName } from "../../src/core/restore/targets";

/** What a hostile client may have put into a snapshot of its own, were the engine not to refuse most of it. */
const HOSTILE = ["..", "../up.txt", "a/../../up.txt", "/etc/passwd", "a//b", "a/./b", ".", "a/\0b", "\ud800lone"];
/** What the engine lets through, since a name may hold it, and what programs elsewhere take for more than a name. */
const ELSEWHERE = ["..\\..\\up.txt", "\\up.txt", "\\\\server\\share", "C:\\up.txt", "c:up.txt", "a/..\\b"];
/** Odd, and harmless: kept as they are. */
const ODD = ["system-systemd\\x2dfsck.slice", "line\nbreak", "\u001b[31mred", "photo\u202egnp.exe", "10:30", "...", " ", "-rf", "naïve \u{1f600}"];

function entry(path: string, kind: EntryFacts["kind"] = "file", target: string | null = null): EntryFacts {
  return { id: path, path, name: path.slice(path.lastIndexOf("/") + 1), kind, size: 1, modified: 0, target, mode: 0o644, uid: 0, gid: 0 } as unknown as EntryFacts;
}

/** Puts entries into a target; gives what it did not take, and why. */
async function put(target: Target, entries: EntryFacts[]): Promise<Record<string, string>> {
  const refused: Record<string, string> = {};
  for (const one of entries) {
    const why = await target.begin(one);
    if (why) refused[one.path] = why;
    else if (one.kind === "file") {
      await target.data(Uint8Array.from([120]));
      await target.end();
    }
  }
  await target.finish();
  return refused;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "copal-targets-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Everything below a folder. */
function found(at: string): string[] {
  return readdirSync(at, { recursive: true, encoding: "utf8" }).sort();
}

describe("a zip of a hostile snapshot", () => {
  /** Writes entries into a zip, and has another program unpack it. */
  async function unpacked(entries: EntryFacts[]): Promise<{ refused: Record<string, string>; names: string[] }> {
    let bytes = Buffer.alloc(0);
    const place: Place = {
      write: async (data, at) => {
        const grown = Buffer.alloc(Math.max(bytes.length, at + data.length));
        bytes.copy(grown);
        grown.set(data, at);
        bytes = grown;
      },
      truncate: async (length) => void (bytes = bytes.subarray(0, length)),
      close: async () => {},
      drop: async () => {},
    };
    const refused = await put(new ZipTarget(place, "", true), entries);
    writeFileSync(join(folder, "a.zip"), bytes);
    const into = join(folder, "a/b/c/into");
    mkdirSync(into, { recursive: true });
    if (entries.length > Object.keys(refused).length) execFileSync("unzip", ["-q", "-o", join(folder, "a.zip"), "-d", into]);
    expect(found(folder).filter((path) => !path.startsWith("a/b/c/into") && !["a", "a/b", "a/b/c", "a.zip"].includes(path))).toEqual([]);
    return { refused, names: found(into) };
  }

  test("holds no name that leads out of the folder it is unpacked into, on any system", async () => {
    const { refused, names } = await unpacked([...HOSTILE, ...ELSEWHERE].map((path) => entry(path)));
    expect(refused).toEqual(Object.fromEntries([...HOSTILE, ...ELSEWHERE].map((path) => [path, "bad-name"])));
    expect(names).toEqual([]);
  });

  test("holds odd names that are harmless as they are", async () => {
    const { refused } = await unpacked(ODD.map((path) => entry(path)));
    expect(refused).toEqual({});
    const read = execFileSync("python3", ["-c", "import sys,json,zipfile; print(json.dumps([i.filename for i in zipfile.ZipFile(sys.argv[1]).infolist()]))", join(folder, "a.zip")], { encoding: "utf8" });
    expect(JSON.parse(read)).toEqual(ODD);
  });

  test("holds nothing below a link, which could lead anywhere", async () => {
    const outside = join(folder, "outside");
    const entries = [entry("door", "symlink", outside), entry("door/key"), entry("door/deep", "directory"), entry("door-mat"), entry("file"), entry("file/below")];
    const { refused, names } = await unpacked(entries);
    expect(refused).toEqual({ "door/key": "bad-name", "door/deep": "bad-name", "file/below": "bad-name" });
    expect(names).toEqual(["door", "door-mat", "file"]);
    expect(existsSync(outside)).toBe(false);
  });

  test("holds one of two names that look the same, and tells of the other", async () => {
    const { refused, names } = await unpacked([entry("a\ufffd"), entry("a\ufffd")]);
    expect(refused).toEqual({ "a\ufffd": "bad-name" });
    expect(names).toEqual(["a\ufffd"]);
  });

  test("holds no link to a name that it cannot hold", async () => {
    const { refused, names } = await unpacked([entry("a", "symlink", "b\ufffd"), entry("c", "symlink", "d")]);
    expect(refused).toEqual({ a: "bad-name" });
    expect(names).toEqual(["c"]);
  });
});

describe("a directory that a person has picked", () => {
  /** A directory as browsers give it, which take no name that could lead elsewhere. */
  class Folder {
    readonly kind = "directory";
    readonly children = new Map<string, Folder | { content: number }>();
    async getDirectoryHandle(name: string, { create = false } = {}): Promise<Folder> {
      const child = this.#child(name);
      if (child && !(child instanceof Folder)) throw new DOMException("a file", "TypeMismatchError");
      if (!child && !create) throw new DOMException("none", "NotFoundError");
      const made = child ?? new Folder();
      this.children.set(name, made);
      return made as Folder;
    }
    async getFileHandle(name: string, { create = false } = {}) {
      const child = this.#child(name);
      if (child instanceof Folder) throw new DOMException("a folder", "TypeMismatchError");
      if (!child && !create) throw new DOMException("none", "NotFoundError");
      const file = child ?? { content: 0 };
      this.children.set(name, file);
      // As a browser does: what is written takes the file's place when it is closed.
      let written = 0;
      const bytes = () => new Uint8Array(file.content);
      const getFile = async () => ({ size: file.content, slice: (from: number, to: number) => ({ arrayBuffer: async () => bytes().slice(from, to).buffer }) });
      return { getFile, createWritable: async () => ({ write: async (data: Uint8Array) => void (written += data.length), close: async () => void (file.content = written), abort: async () => {} }) };
    }
    async removeEntry(name: string): Promise<void> {
      this.children.delete(name);
    }
    #child(name: string) {
      if (name === "" || name === "." || name === ".." || /[/\\]/.test(name)) throw new TypeError("Name is not allowed.");
      return this.children.get(name);
    }
  }
  const root = () => new Folder();
  const target = (at: Folder, base = "", existing: Existing = "leave") => new DirectoryTarget(at as unknown as FileSystemDirectoryHandle, base, existing);

  test("is never left, and what does not fit in is named", async () => {
    const at = root();
    const refused = await put(target(at), [...HOSTILE, ...ELSEWHERE].map((path) => entry(path)));
    // What a browser takes for a plain name is one there.
    const { "c:up.txt": plain, ...rest } = refused;
    expect(plain).toBeUndefined();
    expect(new Set(Object.values(rest))).toEqual(new Set(["bad-name"]));
    expect([...at.children.keys()].filter((name) => name !== "a")).toEqual(["c:up.txt"]);
  });

  test("loses nothing that was there, neither a file nor a folder nor what is below a file", async () => {
    const at = root();
    at.children.set("old.txt", { content: 9 });
    at.children.set("folder", new Folder());
    const refused = await put(target(at), [entry("old.txt"), entry("folder"), entry("old.txt/below"), entry("door", "symlink", "/etc"), entry("pipe", "other"), entry("new.txt")]);
    expect(refused).toEqual({ "old.txt": "exists", folder: "exists", "old.txt/below": "exists", door: "link", pipe: "special" });
    expect(at.children.get("old.txt")).toEqual({ content: 9 });
    expect(at.children.get("new.txt")).toEqual({ content: 1 });
    expect(at.children.get("folder")).toBeInstanceOf(Folder);
  });

  test("keeps both where the person wants that, each under a name of its own", async () => {
    const at = root();
    at.children.set("same.txt", { content: 1 });
    for (const name of ["a.txt", "a (restored).txt", ".profile"]) at.children.set(name, { content: 9 });
    expect(await put(target(at, "", "both"), [entry("a.txt"), entry(".profile"), entry("new.txt"), entry("same.txt")])).toEqual({});
    // What is the same needs no second name.
    expect(Object.fromEntries(at.children)).toEqual({
      "a.txt": { content: 9 }, "a (restored).txt": { content: 9 }, "a (restored 2).txt": { content: 1 },
      ".profile": { content: 9 }, ".profile (restored)": { content: 1 }, "new.txt": { content: 1 }, "same.txt": { content: 1 },
    });
  });

  test.each(["leave", "both"] as const)("takes an empty file, as a tab that was closed leaves one, for none: %s", async (existing) => {
    const at = root();
    at.children.set("left.txt", { content: 0 });
    expect(await put(target(at, "", existing), [entry("left.txt")])).toEqual({});
    expect(Object.fromEntries(at.children)).toEqual({ "left.txt": { content: 1 } });
  });

  test("keeps an empty file for one that is empty too, and one that it has written itself", async () => {
    const at = root();
    at.children.set("old.txt", { content: 0 });
    const empty = (path: string) => ({ ...entry(path), size: 0 });
    const into = target(at);
    expect(await into.begin(empty("old.txt"))).toBe("exists");
    expect(await into.begin(empty("new.txt"))).toBeNull();
    await into.end();
    expect(await into.begin(entry("new.txt"))).toBe("exists");
  });

  test("has a file replaced where the person wants that, and never a folder, nor what was restored a moment ago", async () => {
    const at = root();
    at.children.set("old.txt", { content: 9 });
    at.children.set("A.txt", { content: 9 });
    at.children.set("a.txt", { content: 9 });
    at.children.set("folder", new Folder());
    expect(await put(target(at, "", "replace"), [entry("A.txt"), entry("a.txt"), entry("folder"), entry("old.txt")])).toEqual({ "a.txt": "exists", folder: "exists" });
    expect(at.children.get("a.txt")).toEqual({ content: 9 });
    expect(at.children.get("old.txt")).toEqual({ content: 1 });
    expect(at.children.get("folder")).toBeInstanceOf(Folder);
  });

  test("keeps what is to be replaced if the new file is damaged", async () => {
    const at = root();
    at.children.set("old.txt", { content: 9 });
    const into = target(at, "", "replace");
    expect(await into.begin(entry("old.txt"))).toBeNull();
    await into.data(Uint8Array.from([120]));
    await into.abort();
    expect(at.children.get("old.txt")).toEqual({ content: 9 });
  });
});

describe("a name beside one that is taken", () => {
  test("keeps the ending", () => {
    expect(["report.pdf", "a.tar.gz", "plain", ".profile"].map((name) => anotherName(name, 1))).toEqual(["report (restored).pdf", "a.tar (restored).gz", "plain (restored)", ".profile (restored)"]);
    expect(anotherName("report.pdf", 3)).toBe("report (restored 3).pdf");
  });
});

describe("the name of a download", () => {
  test("is one name, which hides nothing", () => {
    expect(asFileName("../../etc/passwd")).toBe(".._.._etc_passwd");
    expect(asFileName("..\\up.txt")).toBe(".._up.txt");
    expect(asFileName("photo\u202egnp.exe")).toBe("photo_gnp.exe");
    expect(asFileName("a\nb\u001b\u0000c")).toBe("a_b__c");
    for (const name of ["", ".", ".."]) expect(asFileName(name)).toBe("_");
    for (const name of ["naïve \u{1f600}.txt", ".profile", "a.tar.gz"]) expect(asFileName(name)).toBe(name);
  });
});

describe("a lone file", () => {
  /** What is written to a place, piece by piece. */
  function notes() {
    const [bytes, lengths]: [number[], number[]] = [[], []];
    const place: Place = {
      write: async (data, at) => {
        lengths.push(data.length);
        data.forEach((byte, number) => (bytes[at + number] = byte));
      },
      truncate: async (length) => void (bytes.length = length),
      close: async () => {},
      drop: async () => {},
    };
    return { bytes, lengths, place };
  }

  test("is written in large pieces, whatever pieces it comes in", async () => {
    const { bytes, lengths, place } = notes();
    const target = new SingleTarget(place);
    expect(await target.begin(entry("a"))).toBeNull();
    for (let piece = 0; piece < 40; piece++) await target.data(new Uint8Array(64 << 10).fill(piece));
    await target.end();
    await target.finish();
    expect(bytes.length).toBe(40 * (64 << 10));
    expect([bytes[0], bytes.at(-1), bytes[(64 << 10) * 20]]).toEqual([0, 39, 20]);
    expect(lengths).toEqual([1 << 20, 1 << 20, 512 << 10]);
  });

  test("of which something is damaged leaves nothing", async () => {
    const { bytes, place } = notes();
    const target = new SingleTarget(place);
    await target.begin(entry("a"));
    await target.data(new Uint8Array(3 << 20).fill(1));
    await target.abort();
    await target.finish();
    expect(bytes).toEqual([]);
  });
});
