import { beforeEach, describe, expect, test } from "vitest";

import type { Piece, Restore } from "../../src/core/engine";
import { Opener } from "../../src/core/restore/opener";

const SECRET = 7;
const additionalData = Uint8Array.of(1, 2, 3);
const iv = (block: number) => new Uint8Array(12).fill(block);

/** A read of blocks, sealed as they are stored. */
async function sealed(texts: string[]): Promise<{ bytes: Uint8Array<ArrayBuffer>; starts: number[] }> {
  const key = await crypto.subtle.importKey("raw", new Uint8Array(32).fill(SECRET), "AES-GCM", false, ["encrypt"]);
  const [bytes, starts]: [number[], number[]] = [[], []];
  for (const [block, text] of texts.entries()) {
    starts.push(bytes.length);
    const cipher = { name: "AES-GCM", iv: iv(block), additionalData };
    bytes.push(...iv(block), ...new Uint8Array(await crypto.subtle.encrypt(cipher, key, new TextEncoder().encode(text))));
  }
  return { bytes: Uint8Array.from(bytes), starts };
}

/** What the engine is told. */
let told: string[];
/** The keys that the engine has given. */
let keys: Uint8Array<ArrayBuffer>[];
let opener: Opener;

beforeEach(() => {
  [told, keys] = [[], []];
  opener = new Opener({
    takeKey: (session: number) => {
      told.push(`key ${session}`);
      if (session !== 0 || keys.length > 0) return null as unknown as Uint8Array<ArrayBuffer>;
      keys.push(new Uint8Array(32).fill(SECRET));
      return keys[0]!;
    },
  });
});

/** An engine with a read of blocks, all of the session of that number. */
function restore({ bytes, starts }: { bytes: Uint8Array; starts: number[] }, session = 0, believes = true): Restore {
  const engine: Pick<Restore, "sealed" | "takeOpened" | "take"> = {
    sealed: () => starts.map((start, at) => ({ start, end: starts[at + 1] ?? bytes.length, session, additionalData })),
    takeOpened: (_, start, iv, plaintext) => {
      told.push(`${start}: ${iv[0]} ${new TextDecoder().decode(Uint8Array.from(plaintext))}`);
      return believes ? ([{ file: start, offset: 0, bytes: plaintext }] as Piece[]) : null;
    },
    take: (_, bytes) => {
      told.push(bytes === null ? "nothing" : "the rest");
      return [];
    },
  };
  return engine as Restore;
}

async function taken(restore: Restore, bytes: Uint8Array<ArrayBuffer> | null): Promise<number[]> {
  const files: number[] = [];
  for await (const pieces of opener.take(restore, 0, bytes)) files.push(...pieces.map(({ file }) => file));
  return files;
}

describe("blocks of a read", () => {
  test("are opened by the browser's cipher and handed to the engine, which ends the read", async () => {
    const read = await sealed(["one", "two"]);
    expect(await taken(restore(read), read.bytes)).toEqual([0, read.starts[1]]);
    expect(told).toEqual(["key 0", "0: 0 one", `${read.starts[1]}: 1 two`, "the rest"]);
  });

  test("share the key of their session, which is taken once and overwritten", async () => {
    const read = await sealed(["one", "two"]);
    await taken(restore(read), read.bytes);
    await taken(restore(read), read.bytes);
    expect(told.filter((what) => what.startsWith("key"))).toEqual(["key 0"]);
    expect(keys[0]).toEqual(new Uint8Array(32));
  });

  test("that do not open are left to the engine, the others not", async () => {
    const read = await sealed(["one", "two", "three"]);
    read.bytes[read.starts[1]! + 13]! ^= 1;
    expect(await taken(restore(read), read.bytes)).toEqual([0, read.starts[2]]);
    expect(told.at(-1)).toBe("the rest");
  });

  test("whose key was given to somebody else are left to the engine", async () => {
    const read = await sealed(["one"]);
    expect(await taken(restore(read, 1), read.bytes)).toEqual([]);
    expect(told).toEqual(["key 1", "the rest"]);
  });

  test("that the engine does not believe give nothing", async () => {
    const read = await sealed(["one"]);
    expect(await taken(restore(read, 0, false), read.bytes)).toEqual([]);
    expect(told).toEqual(["key 0", "0: 0 one", "the rest"]);
  });

  test("that cannot be had are told to the engine", async () => {
    expect(await taken(restore(await sealed(["one"])), null)).toEqual([]);
    expect(told).toEqual(["nothing"]);
  });
});
