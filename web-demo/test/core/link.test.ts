//! The page of a link: what it saves, and what it leaves out.

import { expect, test } from "vitest";
import type { Place } from "../../src/core/restore/place";
import type { ShareEntry } from "../../src/core/share/list";
import { type OpenShare, ShareError } from "../../src/core/share/read";
import { canSave, fileName, refusedNames, save } from "../../src/share/save";

/** A share of these files, each of its own name's bytes; reading stops at one that is `bad`. */
function sharing(paths: string[], bad: string | null = null): OpenShare {
  const entries: ShareEntry[] = paths.map((path) => (path.endsWith("/") ? { path: path.slice(0, -1), time: null } : { path, time: null, size: path.length, offset: 0 }));
  return {
    list: { name: "../evil\u202e/name", length: 100, entries },
    async *bytes(entry: ShareEntry) {
      yield new TextEncoder().encode(entry.path.slice(0, 1));
      if (entry.path === bad) throw new ShareError("altered");
      yield new TextEncoder().encode(entry.path.slice(1));
    },
  } as unknown as OpenShare;
}

function place(): Place & { text: () => string; end: string } {
  let bytes = new Uint8Array(0);
  const made = {
    end: "open",
    write: async (some: Uint8Array, at: number) => {
      const grown = new Uint8Array(Math.max(bytes.length, at + some.length));
      grown.set(bytes);
      grown.set(some, at);
      bytes = grown;
    },
    truncate: async (length: number) => void (bytes = bytes.slice(0, length)),
    close: async () => void (made.end = "closed"),
    drop: async () => void (made.end = "dropped"),
    text: () => new TextDecoder("latin1").decode(bytes),
  };
  return made;
}

const signal = new AbortController().signal;
const EVIL = ["../../x", "a/../../b", "/etc/passwd", "C:\\x", "a\\..\\b", "a//b", "."];

test("a zip holds no name that leads out of its folder, and says which were left out", async () => {
  const share = sharing(["good/", "good/a.txt", ...EVIL]);
  expect(refusedNames(share)).toEqual(EVIL);
  const to = place();
  expect(await save(share, "all", to, signal, () => {})).toEqual(EVIL);
  expect(to.end).toBe("closed");
  expect(to.text()).toContain("good/a.txt");
  for (const name of ["../", "passwd", "C:", "..\\"]) expect(to.text()).not.toContain(name);
});

test("a download is called by a name that parts no path and turns no writing", () => {
  const share = sharing(["../../x.txt", "a/<b>.html", "a\\b"]);
  expect(fileName(share, "all")).toBe(".._evil__name.zip");
  expect(share.list.entries.map((entry) => fileName(share, entry))).toEqual(["x.txt", "_b_.html", "a_b"]);
});

test("what breaks off, is altered or is stopped becomes no file", async () => {
  for (const what of ["all", { path: "two", time: null, size: 3, offset: 0 }] as const) {
    const to = place();
    await expect(save(sharing(["one", "two"], "two"), what, to, signal, () => {})).rejects.toThrow("altered");
    expect(to.end).toBe("dropped");
    const stopped = place();
    await expect(save(sharing(["one", "two"]), what, stopped, AbortSignal.abort(), () => {})).rejects.toThrow();
    expect(stopped.end).toBe("dropped");
  }
});

test("what a browser cannot hold is said before anything is fetched", () => {
  expect(canSave(512 << 20)).toBe(true);
  expect(canSave((512 << 20) + 1)).toBe(false);
});
