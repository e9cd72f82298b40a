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

test("what was kept is its own: the buffers it came in may be overwritten, also after more was kept and blocks were made", () => {
  const held = new Held();
  const expected: number[] = [];
  const blocks: number[] = [];
  for (let round = 0; round < 9; round++) {
    const window = bytes(round * 20, 10);
    held.add(window, Uint32Array.of(4, 1, 5), Uint8Array.of(1, 0, 1));
    expected.push(...window.subarray(0, 4), ...window.subarray(5));
    // Of the eighteen chunks seven are in blocks of two or three by then.
    if (round % 4 === 2) blocks.push(...held.block(Uint32Array.of(4, 5)));
    if (round % 4 === 3) blocks.push(...held.block(Uint32Array.of(4, 5, 4)), ...held.block(Uint32Array.of(5)));
    held.keep();
    window.fill(255);
  }
  for (let left = 18 - 12; left > 0; left -= 2) blocks.push(...held.block(Uint32Array.of(4, 5)));
  expect(blocks).toEqual(expected);
});

test("what is kept takes one buffer, however much comes and goes", () => {
  const held = new Held();
  const seen = new Set<ArrayBufferLike>();
  const { set } = Uint8Array.prototype;
  Uint8Array.prototype.set = function (...args) {
    seen.add(this.buffer);
    return set.apply(this, args);
  };
  try {
    for (let round = 0; round < 50; round++) {
      held.add(bytes(round, 100), Uint32Array.of(60, 40), Uint8Array.of(1, 1));
      held.keep();
      held.reuse(held.block(Uint32Array.of(60, 40)).buffer);
    }
  } finally {
    Uint8Array.prototype.set = set;
  }
  expect(seen.size).toBe(2);
});
