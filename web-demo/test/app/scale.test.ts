import { expect, test } from "vitest";
import { nearest, sizeTicks, thinned, timeTicks } from "../../src/app/scale";

test("ticks of sizes begin at nothing, reach the greatest, and are few", () => {
  for (const max of [1, 900, 1024, 5e5, 38.4 * 1024 ** 3, 1023 * 1024 ** 2, 7e15]) {
    const ticks = sizeTicks(max);
    expect(ticks[0], `${max}`).toBe(0);
    expect(ticks[ticks.length - 1], `${max}`).toBeGreaterThanOrEqual(max);
    expect(ticks.length, `${max}`).toBeLessThanOrEqual(6);
    expect(ticks.length, `${max}`).toBeGreaterThanOrEqual(3);
  }
});
test("ticks of sizes are round in their unit", () => expect(sizeTicks(38.4 * 1024 ** 3).map((tick) => tick / 1024 ** 3)).toEqual([0, 10, 20, 30, 40]));
test("a chart of nothing still has an axis", () => expect(sizeTicks(0)).toEqual([0, 1024]));
test("ticks of times hold both ends", () => expect(timeTicks(0, 100, 5)).toEqual([0, 25, 50, 75, 100]));
test("one time has one tick", () => expect(timeTicks(7, 7, 5)).toEqual([7]));
test("the nearest point is found between and beyond", () => expect([-5, 4, 6, 14, 999].map((at) => nearest([0, 10, 20], at))).toEqual([0, 0, 1, 1, 2]));
test("thinning keeps the ends", () => {
  const points = Array.from({ length: 1000 }, (_, i) => i);
  const few = thinned(points, 10);
  expect([few.length, few[0], few[9]]).toEqual([10, 0, 999]);
});
