import { expect, test } from "vitest";

import type { EntryFacts } from "../../src/core/engine";
import type { Part } from "../../src/core/look/parts";
import { thumbnails } from "../../src/core/look/thumbnails";

const png = (width: number, height: number, length: number) => {
  const bytes = new Uint8Array(length);
  bytes.set([...Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1")]);
  new DataView(bytes.buffer).setUint32(16, width);
  new DataView(bytes.buffer).setUint32(20, height);
  return bytes;
};

/** Files in a row; of `damaged` something is altered from a place on. */
function shelf(files: Record<string, Uint8Array<ArrayBuffer>>, damaged: Record<string, number> = {}) {
  const asked: string[] = [];
  const drawn: number[] = [];
  const books = {
    parts: async (_: string, ids: string[], start: number, end: number) => {
      asked.push(`${ids.join(" ")} ${start}..${end}`);
      return new Map(ids.map((id): [string, Part] => {
        const bytes = files[id]!.slice(start, end);
        return [id, { entry: { id, size: files[id]!.length } as EntryFacts, bytes, isDamaged: id in damaged && damaged[id]! < end }];
      }));
    },
  };
  const draw = async (bytes: Uint8Array<ArrayBuffer>) => {
    drawn.push(bytes.length);
    if (bytes[30] === 1) throw new Error("no picture");
    return new Blob(["small"]);
  };
  return { asked, drawn, look: (ids = Object.keys(files)) => thumbnails(books, "s", ids, draw) };
}

test("the beginnings of all files are read together, and the rest only of those that need it", async () => {
  const { asked, drawn, look } = shelf({ a: png(10, 10, 1_000), b: png(10, 10, 300_000), c: new Uint8Array(500) });
  expect(await look()).toEqual([{ picture: expect.any(Blob) }, { picture: expect.any(Blob) }, { why: "no-picture" }]);
  expect(asked).toEqual(["a b c 0..131072", "b 0..300000"]);
  expect(drawn).toEqual([1_000, 300_000]);
});

test("a picture that would become very large is not decoded, and neither is a large file read", async () => {
  const { asked, drawn, look } = shelf({ bomb: png(60_000, 60_000, 400), large: png(10, 10, 17 << 20) });
  expect(await look()).toEqual([{ why: "too-large" }, { why: "too-large" }]);
  expect([asked.length, drawn]).toEqual([1, []]);
});

test("what is damaged is said to be, and shown by no byte", async () => {
  const { drawn, look } = shelf({ start: png(10, 10, 900), end: png(10, 10, 300_000) }, { start: 0, end: 200_000 });
  expect(await look()).toEqual([{ why: "damaged" }, { why: "damaged" }]);
  expect(drawn).toEqual([]);
});

test("a picture that the browser cannot decode spoils no other", async () => {
  const broken = png(10, 10, 900);
  broken[30] = 1;
  expect(await shelf({ broken, sound: png(10, 10, 900) }).look()).toEqual([{ why: "broken" }, { picture: expect.any(Blob) }]);
});
