import { expect, test } from "vitest";

import { Pace } from "../../src/core/gateway/pace";

/** A line of this many bytes a second, after packs of some bytes have gone over it, two at a time. */
function line(rate: number, bytes: number, packs = 8) {
  let now = 0;
  const pace = new Pace(() => now);
  for (let at = 0; at < packs; at++) {
    pace.begin();
    pace.begin();
    now += (1000 * 2 * bytes) / rate;
    pace.end(bytes);
    pace.end(bytes);
    // Nothing is on its way for a while, which says nothing of the line.
    now += 5_000;
  }
  return pace;
}

test("nobody knows the line at first: one small pack is sent", () => {
  expect(new Pace(() => 0).load).toEqual({ uploads: 1, pack: 512 << 10 });
});

test("the rate is that of the time in which something was on its way", () => {
  expect(line(250_000, 1 << 20).rate).toBeCloseTo(250_000, -4);
});

test("a pack takes some eight seconds, whatever the line, and a slow one has fewer at once", () => {
  expect(line(16_000, 512 << 10).load).toEqual({ uploads: 1, pack: 512 << 10 });
  expect(line(250_000, 1 << 20).load).toMatchObject({ uploads: 2 });
  expect(line(250_000, 1 << 20).load.pack / 1e6).toBeCloseTo(1, 1);
  expect(line(1_250_000, 4 << 20).load.pack / 1e6).toBeCloseTo(3.3, 1);
  expect(line(100e6, 16 << 20).load).toEqual({ uploads: 3, pack: 16 << 20 });
});

test("a line that has become slow is known to be slow half a minute later", () => {
  let now = 0;
  const pace = new Pace(() => now);
  const send = (bytes: number, ms: number) => {
    pace.begin();
    now += ms;
    pace.end(bytes);
  };
  send(100e6, 10_000);
  send(300_000, 30_000);
  send(300_000, 30_000);
  send(300_000, 30_000);
  expect(pace.rate! / 1e6).toBeLessThan(1);
});
