import { describe, expect, test } from "vitest";

import { Control } from "../../src/core/coordinator/control";
import type { Read, Restore, Window } from "../../src/core/engine";
import { imageType, isText } from "../../src/core/look/kinds";
import type { Books } from "../../src/core/restore/books";
import { RestoreRun } from "../../src/core/restore/run";
import { below, commonParent } from "../../src/core/restore/paths";
import type { Target } from "../../src/core/restore/targets";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("what a file is", () => {
  test("is judged by its bytes", () => {
    expect(imageType(Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0]))).toBe("image/png");
    expect(imageType(Uint8Array.from([0xff, 0xd8, 0xff, 0xe0]))).toBe("image/jpeg");
    expect(imageType(bytes("<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"))).toBeNull();
    expect(isText(bytes("Grüße\n\ttab"), false)).toBe(true);
    expect(isText(bytes("Grüße").subarray(0, 3), true)).toBe(true);
    expect(isText(bytes("Grüße").subarray(0, 3), false)).toBe(false);
    expect(isText(Uint8Array.from([1, 2, 3]), false)).toBe(false);
  });
});

describe("where things go", () => {
  test("paths are told below what all have in common", () => {
    expect(commonParent(["a/b/c", "a/b/d/e"])).toBe("a/b");
    expect(commonParent(["a/b"])).toBe("a");
    expect(commonParent(["a", "b"])).toBe("");
    expect(below("a/b", "a/b/c")).toBe("c");
    expect(below("a/b", "a/b")).toBe("");
    expect(below("", "a")).toBe("a");
  });
});

/** Notes what it is handed. */
class Notes implements Target {
  files: Record<string, string> = {};
  order: string[] = [];
  ended: "finished" | "dropped" | null = null;
  #open: { path: string; content: string } | null = null;

  async begin(entry: { path: string; kind: string }) {
    this.order.push(entry.path);
    if (entry.kind === "file") this.#open = { path: entry.path, content: "" };
    return null;
  }
  async data(data: Uint8Array) {
    this.#open!.content += new TextDecoder().decode(data);
  }
  async end() {
    this.files[this.#open!.path] = this.#open!.content;
    this.#open = null;
  }
  async abort() {
    this.#open = null;
  }
  async finish() {
    this.ended = "finished";
  }
  async drop() {
    this.ended = "dropped";
  }
}

interface Step {
  entries?: [file: number, path: string, size: number][];
  pieces?: [file: number, offset: number, content: string][];
  ends?: number[];
  damaged?: [file: number, path: string][];
  reads?: [file: number, offset: number, content: string][][];
  unsettled?: number[];
}

async function run(steps: Step[], ids = ["a", "b"]) {
  let at = -1;
  const window = (): Window => {
    const step = steps[++at];
    const entry = ([file, path, size]: NonNullable<Step["entries"]>[number]) => ({
      file, id: path, path, name: path, kind: size < 0 ? ("directory" as const) : ("file" as const), size: Math.max(size, 0), modified: 0,
      target: null, mode: 0o644, uid: 0, gid: 0,
    });
    return {
      needs: [], entries: (step?.entries ?? []).map(entry), pieces: (step?.pieces ?? []).map(([file, offset, content]) => ({ file, offset, bytes: bytes(content) })), ends: step?.ends ?? [], isDone: !step,
      reads: (step?.reads ?? []).map((_, at) => ({ key: `p${at}`, start: 0, end: 1, bytes: 1 })),
      damaged: (step?.damaged ?? []).map(([file, path]) => ({ file, path, why: "x" })),
    } as unknown as Window;
  };
  const restore = {
    next: window,
    get unsettled() {
      return Uint32Array.from(steps[at]?.unsettled ?? []);
    },
    free: () => {},
  } as unknown as Restore;
  const books = {
    measure: async () => ({ files: ids.length, directories: 0, bytes: 100, leftOut: 0 }),
    withTree: async (_: string, work: (tree: { restore: () => Restore }, on: object) => Promise<void>) => work({ restore: () => restore }, shelf),
  } as unknown as Books;
  const shelf = {
    read: async (reads: Read[], _: unknown, take: (bytes: Uint8Array, at: number) => Promise<void>) => {
      for (const at of reads.keys()) await take(new Uint8Array(1), at);
    },
    async *take(_: Restore, read: number) {
      for (const [file, offset, content] of steps[at]!.reads![read] ?? []) yield [{ file, offset, bytes: bytes(content) }];
    },
  };
  const notes = new Notes();
  const result = new RestoreRun(books, "s", ids).run(new Control(), async () => notes);
  return { notes, result: await result.catch((error: { problem: { code: string } }) => error.problem.code) };
}

describe("restore", () => {
  test("pieces are written in order, whichever came first, and holes are zeros", async () => {
    const { notes, result } = await run([
      { entries: [[0, "d", -1], [1, "d/a", 8], [2, "d/b", 4]], ends: [0], reads: [[[1, 6, "gh"], [2, 0, "1234"]], [[1, 0, "abcd"]]] },
      { ends: [1, 2] },
    ]);
    expect(notes.files).toEqual({ "d/a": "abcd\0\0gh", "d/b": "1234" });
    expect(notes.order).toEqual(["d", "d/a", "d/b"]);
    expect(result).toMatchObject({ files: 2, damaged: [] });
    expect(notes.ended).toBe("finished");
  });

  test("pieces that come with the entries go where they lie in the file, behind its holes", async () => {
    const { notes } = await run([{ entries: [[1, "a", 6], [2, "b", 2]], pieces: [[1, 2, "cd"], [2, 0, "xy"]], ends: [1, 2] }]);
    expect(notes.files).toEqual({ a: "\0\0cd\0\0", b: "xy" });
  });

  test("a file of which a part was no good waits for another copy of it", async () => {
    const { notes } = await run([
      { entries: [[1, "a", 4], [2, "b", 2]], reads: [[[1, 0, "ab"]], [[2, 0, "xy"]]], unsettled: [1] },
      { reads: [[[1, 2, "cd"]]] },
      { ends: [1, 2] },
    ]);
    expect(notes.files).toEqual({ a: "abcd", b: "xy" });
  });

  test("of a damaged file nothing is handed over, and it is named", async () => {
    const { notes, result } = await run([
      { entries: [[1, "a", 4], [2, "b", 2]], reads: [[[1, 0, "ab"]], [[2, 0, "xy"]]], unsettled: [1] },
      { damaged: [[1, "a"]], ends: [2] },
    ]);
    expect(notes.files).toEqual({ b: "xy" });
    expect(result).toMatchObject({ files: 1, damaged: [{ path: "a", problem: { code: "damaged", subject: "a" } }] });
  });

  test("a file that never became whole is damaged, whatever was told", async () => {
    const { notes, result } = await run([{ entries: [[1, "a", 4], [2, "b", 1]], pieces: [[2, 0, "x"]], reads: [[[1, 0, "ab"]]] }, { ends: [2] }]);
    expect(notes.files).toEqual({ b: "x" });
    expect(result).toMatchObject({ damaged: [{ path: "a" }] });
  });

  test("a single file that is damaged is a failure, and nothing is left of it", async () => {
    const { notes, result } = await run([{ entries: [[1, "a", 4]], reads: [[[1, 0, "ab"]]], unsettled: [1] }, { damaged: [[1, "a"]] }], ["a"]);
    expect([notes.ended, result]).toEqual(["dropped", "damaged"]);
  });
});
