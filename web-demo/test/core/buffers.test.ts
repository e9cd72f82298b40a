import { expect, test } from "vitest";

import { buffersOf, release } from "../../src/core/buffers";

test("a released buffer has no memory any more, and so the next one", () => {
  for (const length of [1_000, 0, 5_000]) {
    const buffer = new ArrayBuffer(length);
    release(buffer);
    expect(buffer.byteLength).toBe(0);
  }
});

test("views of one buffer are that buffer once", () => {
  const [one, two] = [new ArrayBuffer(8), new ArrayBuffer(8)];
  expect(buffersOf([new Uint8Array(one, 0, 2), new Uint8Array(two), new Uint8Array(one, 2)])).toEqual([one, two]);
});
