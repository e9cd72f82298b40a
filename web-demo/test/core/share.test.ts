//! Shares: the sealed bytes, and a reader that a server lies to.

import { afterEach, describe, expect, test, vi } from "vitest";
import { fromHex, toHex } from "../../src/core/digits";
import { openLabel, sealLabel } from "../../src/core/share/label";
import { deriveKeys, keyIn, linkOf, tokenHash } from "../../src/core/share/keys";
import { type ShareList, readList, writeList } from "../../src/core/share/list";
import { OpenShare, ShareError, ticketBox } from "../../src/core/share/read";
import { PIECE, SEALED, Sealing, openAll, openPiece, piecesOf, sealedLength } from "../../src/core/share/stream";

const KEY = Uint8Array.from({ length: 32 }, (_, at) => at);
const TEXT = "Lisbon, in March\n";
const LIST: ShareList = { name: "walk.txt", length: 17, entries: [{ path: "walk.txt", time: 1_790_000_000_000, size: 17, offset: 0 }] };
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (opened: Uint8Array) => new TextDecoder().decode(opened);

/** Seals bytes that come in parts of this length; gives the pieces. */
async function sealed(key: CryptoKey, content: Uint8Array, step = 1 << 18): Promise<Uint8Array<ArrayBuffer>[]> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const sealing = new Sealing(key, async (piece) => void pieces.push(piece));
  for (let at = 0; at < content.length; at += step) await sealing.add(content.subarray(at, at + step));
  await sealing.end();
  return pieces;
}

function joined(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

/** Content of this length, of which no two pieces are alike. */
function noise(length: number): Uint8Array<ArrayBuffer> {
  const made = new Uint8Array(length);
  for (let at = 0; at < length; at++) made[at] = at * 7 + (at >> 8);
  return made;
}

/** Compares many bytes at once: a matcher would look at each. */
const isSame = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0;

describe("a fixed share", () => {
  // Made by another program, in Python: a change of these bytes breaks every link there is.
  const content = "2374ec31d26a9e0adb1c3870da45fce7990b026a4b7e331a321f58545acc97fdde";
  const list =
    "557fa8a1f0a556a79784ecc3657e1153885bf27bb1fa3fe31ced33eb9a843b4b673f74807992e9eb1611ddb099ecdeb2b725d3b0f833ebce9ee272d07609579a49c8b11a104699d015af4399fbe19337eccddcbacc6801d26727480667d8e19866339719c770899c6134300b3ad8443344295d800e1a26da2da6f0621a2043ba69eae7a9f1";

  test("has the id, the token and the bytes that it always had", async () => {
    const keys = await deriveKeys(KEY);
    expect(keys.id).toBe("b14c251dce4d7de8dc89cf65a152e3b5");
    expect(keys.token).toBe("4e58255e6abb46d299f0e3ed93f140dd596d8ac179d6c0ca8e9069742b457020");
    expect(toHex(joined(await sealed(keys.content, bytes(TEXT))))).toBe(content);
    expect(toHex(joined(await sealed(keys.list, writeList(LIST))))).toBe(list);
  });

  test("opens", async () => {
    const keys = await deriveKeys(KEY);
    expect(text(await openAll(keys.content, fromHex(content)))).toBe(TEXT);
    expect(readList(await openAll(keys.list, fromHex(list)))).toEqual(LIST);
    await expect(openAll(keys.list, fromHex(content))).rejects.toThrow();
  });

  test("of three pieces is the same however its bytes come", async () => {
    const keys = await deriveKeys(KEY);
    for (const step of [1 << 18, 1_000_003, 3 << 20]) {
      const pieces = await sealed(keys.content, noise(2 * PIECE + 5), step);
      expect(pieces.map(({ length }) => length)).toEqual([SEALED, SEALED, 21]);
      const hash = await crypto.subtle.digest("SHA-256", joined(pieces));
      expect(toHex(new Uint8Array(hash))).toBe("f5ffe08acf1e6bf0ee7305ebed83b24f64e9d6c1a6fcadec69e533888f514be5");
    }
  });
});

describe("a piece", () => {
  test("opens in its own place only, and not if a bit of it is another", async () => {
    const { content } = await deriveKeys(KEY);
    const { content: other } = await deriveKeys(KEY.map((byte) => byte ^ 1));
    const [first, second, last] = (await sealed(content, noise(2 * PIECE + 5))) as [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>];
    expect((await openPiece(content, 1, false, second)).length).toBe(PIECE);
    const bent = second.slice();
    bent[70_000]! ^= 1;
    for (const [key, number, isLast, piece] of [
      [content, 0, false, second], [content, 1, false, first], [content, 1, true, second], [content, 2, false, last], [content, 1, false, bent],
      [content, 1, false, second.slice(0, -1)], [other, 1, false, second], [content, 2, true, (await sealed(other, noise(2 * PIECE + 5)))[2]!],
    ] as const) {
      await expect(openPiece(key, number, isLast, piece)).rejects.toThrow();
    }
  });

  test.each([0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])("is the last one where there is no more: %i bytes", async (length) => {
    const { content } = await deriveKeys(KEY);
    const pieces = await sealed(content, noise(length));
    expect(pieces.length).toBe(piecesOf(length));
    expect(joined(pieces).length).toBe(sealedLength(length));
    expect(isSame(await openAll(content, joined(pieces)), noise(length))).toBe(true);
    // Cut at the end of a piece, it has no last one.
    if (pieces.length > 1) await expect(openAll(content, joined(pieces.slice(0, -1)))).rejects.toThrow();
  });
});

describe("a link", () => {
  test("holds the key behind the mark that browsers keep to themselves", () => {
    for (const key of [KEY, new Uint8Array(32).fill(0xff), new Uint8Array(32)]) {
      const link = new URL(linkOf("https://backup.example", key));
      expect(`${link.pathname}${link.search}`).toBe("/share");
      expect(keyIn(link.hash)).toEqual(key);
    }
    for (const hash of ["", "#", "#restore", "#join=x", `#${"A".repeat(42)}`, `#${"A".repeat(44)}`, `#${"A".repeat(42)}/`]) expect(keyIn(hash)).toBeNull();
  });

  test("is opened by a token of which the server has the hash", async () => {
    const { token } = await deriveKeys(KEY);
    expect(await tokenHash(token)).toBe(toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", fromHex(token)))));
  });
});

describe("a list", () => {
  const entry = { path: "a", time: null, size: 3, offset: 0 };
  const told = (list: object) => readList(bytes(JSON.stringify({ version: 1, name: "n", length: 10, entries: [entry], ...list })));

  test("says what is where", () => {
    expect(told({ entries: [entry, { path: "folder", time: 5 }] })).toEqual({ name: "n", length: 10, entries: [entry, { path: "folder", time: 5 }] });
  });

  test("that says what cannot be is none", () => {
    const wrong: unknown[] = [
      { version: 2 }, { name: 5 }, { length: -1 }, { length: 2 ** 60 }, { entries: {} }, { entries: [null] },
      ...[{ path: "" }, { path: 5 }, { time: "now" }, { size: -1 }, { size: 11 }, { offset: 8 }, { size: 1.5 }, { size: undefined }, { offset: undefined }, { size: 2 ** 53 }].map((change) => ({ entries: [{ ...entry, ...change }] })),
      { entries: Array.from({ length: 50_001 }, () => entry) },
    ];
    for (const list of wrong) expect(told(list as object), JSON.stringify(list).slice(0, 80)).toBeNull();
    for (const said of ["", "null", "[]", "{", "\xff"]) expect(readList(bytes(said))).toBeNull();
    expect(readList(Uint8Array.of(0xff, 0xfe))).toBeNull();
  });
});

describe("a label", () => {
  test("is read by whoever has the owner's key, for its own share", async () => {
    const { list: key } = await deriveKeys(KEY);
    const sealed = await sealLabel(key, "a1", "Lisbon “2026”");
    expect(await openLabel(key, "a1", sealed)).toBe("Lisbon “2026”");
    expect(await openLabel(key, "a2", sealed)).toBeNull();
    expect(await openLabel((await deriveKeys(KEY)).content, "a1", sealed)).toBeNull();
    expect(await openLabel(key, "a1", "no base64 ")).toBeNull();
    expect(await sealLabel(key, "a1", "Lisbon “2026”")).not.toBe(sealed);
  });
});

describe("a reader", () => {
  afterEach(() => void vi.unstubAllGlobals());

  /** A server with one share, which gives its parts through `bend`. */
  async function serve(content: Uint8Array, bend: (sealed: Uint8Array<ArrayBuffer>, object: number | null) => Uint8Array<ArrayBuffer> | Response = (sealed) => sealed) {
    const keys = await deriveKeys(KEY);
    const data = joined(await sealed(keys.content, content));
    const entries = [{ path: "whole", time: null, size: content.length, offset: 0 }, { path: "part", time: null, size: Math.min(7, content.length), offset: Math.max(0, content.length - 7) }];
    const list = joined(await sealed(keys.list, writeList({ name: "n", length: content.length, entries })));
    const asked: string[] = [];
    let openings = 0;
    vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
      const said = JSON.parse(init.body as string) as { ticket?: string; token?: string; object?: number | null; range?: [number, number] };
      asked.push(`${path.split("/").at(-1)} ${said.object ?? ""}`.trim());
      if (path.endsWith("/openings")) return Response.json({ ticket: `${++openings}-x`, until: 1, ends: 2, left: 3 });
      if (said.ticket !== `${openings}-x`) return new Response("{}", { status: 404, headers: { "copal-problem": "no-share" } });
      const object = said.object ?? null;
      const all = object === null ? list : data.slice((object - 1) * 16 * SEALED, object * 16 * SEALED);
      const given = bend(said.range ? all.slice(said.range[0], said.range[1] + 1) : all, object);
      return given instanceof Response ? given : new Response(given, { headers: { "content-type": "application/octet-stream" } });
    });
    return asked;
  }

  const signal = new AbortController().signal;
  const storage = () => {
    const kept = new Map<string, string>();
    return { kept, getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, value: string) => void kept.set(name, value) };
  };
  const open = (kept: Pick<Storage, "getItem" | "setItem"> = storage()) => OpenShare.open(KEY, ticketBox(kept), signal);
  async function whole(share: OpenShare, entry = share.list.entries[0]!, end = 0): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const part of share.bytes(entry, end, signal)) parts.push(part);
    return joined(parts);
  }
  const why = (work: Promise<unknown>) => work.then(() => "fine", (error: unknown) => (error instanceof ShareError ? error.why : String(error)));

  test.each([0, 1, PIECE, 17 * PIECE + 3])("reads %i bytes, of all objects", async (length) => {
    await serve(noise(length));
    const share = await open();
    expect(isSame(await whole(share), noise(length))).toBe(true);
    expect(isSame(await whole(share, share.list.entries[1]!), noise(length).slice(Math.max(0, length - 7)))).toBe(true);
  });

  test("fetches no more of a long share than a short file needs", async () => {
    const asked = await serve(noise(17 * PIECE + 3));
    const share = await open();
    await whole(share, share.list.entries[1]!);
    expect(asked).toEqual(["openings", "parts", "parts 2"]);
  });

  test("hands out nothing of a piece that is altered, cut, moved or of another share", async () => {
    const other = joined(await sealed((await deriveKeys(KEY.map((byte) => byte ^ 1))).content, noise(2 * PIECE)));
    const bends: ((sealed: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>)[] = [
      (sealed) => sealed.map((byte, at) => (at === 5 ? byte ^ 1 : byte)),
      (sealed) => sealed.slice(0, -1),
      (sealed) => sealed.slice(0, SEALED),
      (sealed) => joined([sealed.slice(SEALED), sealed.slice(0, SEALED)]),
      (sealed) => other.slice(0, sealed.length),
      () => new Uint8Array(0),
      (sealed) => joined([sealed, sealed]),
    ];
    for (const bend of bends) {
      await serve(noise(2 * PIECE), (sealed, object) => (object === null ? sealed : bend(sealed)));
      const share = await open();
      expect(await why(whole(share))).toBe("altered");
      // Of a short list some of these are the list itself.
      let isBent = false;
      await serve(noise(2 * PIECE), (sealed, object) => {
        if (object !== null) return sealed;
        const bent = bend(sealed);
        isBent = !isSame(bent, sealed);
        return bent;
      });
      expect(await why(open())).toBe(isBent ? "altered" : "fine");
    }
  });

  test("counts once in a tab, also if the page is loaded anew, and keeps no key", async () => {
    const asked = await serve(noise(10));
    const kept = storage();
    await open(kept);
    await open(kept);
    expect(asked.filter((one) => one === "openings").length).toBe(1);
    const all = [...kept.kept].flat().join(" ");
    expect(all).toContain("1-x");
    expect(all).not.toContain(linkOf("", KEY).split("#")[1]);
    expect(all).not.toContain((await deriveKeys(KEY)).token);
    // A ticket that counts no more is one of the past.
    kept.setItem("copal share b14c251dce4d7de8dc89cf65a152e3b5", JSON.stringify({ ticket: "0-old", ends: 1, left: 1 }));
    await open(kept);
    expect(asked.filter((one) => one === "openings").length).toBe(2);
  });

  test("says that a share is over where the gateway says so, and of anything else that it does not answer", async () => {
    vi.stubGlobal("setTimeout", (work: () => void) => void queueMicrotask(work));
    const answers = (response: () => Response) => vi.stubGlobal("fetch", async () => response());
    answers(() => new Response("{}", { status: 404, headers: { "copal-problem": "no-share" } }));
    expect(await why(open())).toBe("gone");
    for (const response of [() => new Response("", { status: 404 }), () => new Response("<html>", { headers: { "content-type": "text/html" } }), () => Response.json({}), () => new Response("no", { status: 500 })]) {
      answers(response);
      expect(await why(open())).toBe("away");
    }
    answers(() => new Response("", { status: 429 }));
    expect(await why(open())).toBe("busy");
  });
});
