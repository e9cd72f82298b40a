import { describe, expect, test } from "vitest";

import { Gathered } from "../../src/core/restore/gathered";
import type { Place } from "../../src/core/restore/place";

const MIB = 1 << 20;

/** A place in memory that counts how often it is written to. */
function memory() {
  const seen = { bytes: new Uint8Array(0), writes: 0, isClosed: false, isDropped: false };
  const place: Place = {
    write: async (data, at) => {
      seen.writes += 1;
      const grown = new Uint8Array(Math.max(seen.bytes.length, at + data.length));
      grown.set(seen.bytes);
      grown.set(data, at);
      seen.bytes = grown;
    },
    truncate: async (length) => void (seen.bytes = seen.bytes.slice(0, length)),
    close: async () => void (seen.isClosed = true),
    drop: async () => void (seen.isDropped = true),
  };
  return { seen, gathered: new Gathered(place) };
}

function some(length: number, value: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).fill(value);
}

describe("a place that gathers", () => {
  test("is written to in large pieces, whatever comes in small ones", async () => {
    const { seen, gathered } = memory();
    for (let at = 0; at < 3 * MIB; at += 1024) await gathered.write(some(1024, (at >> 10) & 255), at);
    await gathered.close();
    expect(seen.writes).toBe(3);
    expect(seen.isClosed).toBe(true);
    expect(seen.bytes.length).toBe(3 * MIB);
    for (let at = 0; at < seen.bytes.length; at += 1024) expect(seen.bytes[at]).toBe((at >> 10) & 255);
  });

  test("holds what a plain one would, wherever is written and however much", async () => {
    let state = 7;
    const random = (below: number) => (state = (state * 48_271) % 0x7fffffff) % below;
    for (let round = 0; round < 40; round++) {
      const [one, plain] = [memory(), memory()];
      const place = one.gathered;
      let length = 0;
      for (let step = 0; step < 60; step++) {
        const size = random(10) === 0 ? MIB + random(MIB) : random(60_000);
        const at = random(4) === 0 ? random(length + 1) : length;
        if (random(12) === 0) {
          length = random(length + 1);
          await place.truncate(length);
          plain.seen.bytes = plain.seen.bytes.slice(0, length);
          continue;
        }
        const bytes = some(size, random(256));
        await place.write(bytes, at);
        const grown = new Uint8Array(Math.max(plain.seen.bytes.length, at + size));
        grown.set(plain.seen.bytes);
        grown.set(bytes, at);
        plain.seen.bytes = grown;
        length = grown.length;
      }
      await place.close();
      expect(Buffer.compare(Buffer.from(one.seen.bytes), Buffer.from(plain.seen.bytes))).toBe(0);
    }
  });

  test("leaves nothing behind when it is dropped", async () => {
    const { seen, gathered } = memory();
    await gathered.write(some(10, 1), 0);
    await gathered.drop();
    expect([seen.writes, seen.isDropped]).toEqual([0, true]);
  });

  test("keeps no bytes that its caller may use again", async () => {
    const { seen, gathered } = memory();
    const bytes = some(4, 1);
    await gathered.write(bytes, 0);
    bytes.fill(9);
    await gathered.close();
    expect([...seen.bytes]).toEqual([1, 1, 1, 1]);
  });
});
