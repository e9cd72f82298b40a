import { expect, test } from "vitest";

import { Held } from "../../src/core/backup/held";

const bytes = (from: number, length: number) => Uint8Array.from({ length }, (_, at) => from + at);

test("blocks get the new chunks in their order, whichever windows they came in", () => {
  const held = new Held();
  held.add(bytes(0, 10), Uint32Array.of(3, 4, 3), Uint8Array.of(1, 0, 1));
  held.add(bytes(100, 5), Uint32Array.of(5), Uint8Array.of(1));
  held.add(bytes(200, 2), Uint32Array.of(1, 1), Uint8Array.of(0, 1));
  expect([...held.block(Uint32Array.of(3, 3))]).toEqual([0, 1, 2, 7, 8, 9]);
  expect([...held.block(Uint32Array.of(5, 1))]).toEqual([100, 101, 102, 103, 104, 201]);
});

test("a buffer that comes back leaves nothing of what it held in a block", () => {
  const held = new Held();
  held.add(bytes(1, 200), Uint32Array.of(200), Uint8Array.of(1));
  const first = held.block(Uint32Array.of(200));
  held.reuse(first.buffer);
  held.add(bytes(7, 3), Uint32Array.of(3), Uint8Array.of(1));
  const second = held.block(Uint32Array.of(3));
  expect(second.buffer).toBe(first.buffer);
  expect([...second]).toEqual([7, 8, 9]);
  held.reuse(second.buffer);
  const long = second.buffer.byteLength + 1;
  held.add(new Uint8Array(long), Uint32Array.of(long), Uint8Array.of(1));
  expect(held.block(Uint32Array.of(long)).length).toBe(long);
});
