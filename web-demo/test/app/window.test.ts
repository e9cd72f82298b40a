import { describe, expect, test } from "vitest";
import { scrollTo, step, windowOf } from "../../src/app/window";

describe("a window", () => {
  test("holds what is in view and a few rows more", () => expect(windowOf(4600, 460, 46, 10_000, 5)).toEqual({ first: 95, end: 115, top: 4370 }));
  test("covers every visible row wherever it is scrolled", () => {
    for (const scroll of [0, 1, 45, 46, 47, 12_345, 459_540, 460_000, 1e9]) {
      const { first, end } = windowOf(scroll, 460, 46, 10_000);
      const at = Math.min(scroll, 10_000 * 46 - 460);
      expect(first * 46, `scroll ${scroll}`).toBeLessThanOrEqual(at);
      expect(end * 46, `scroll ${scroll}`).toBeGreaterThanOrEqual(at + 460);
    }
  });
  test("never holds many more rows than fit", () => {
    const { first, end } = windowOf(200_000, 900, 46, 1_000_000);
    expect(end - first).toBeLessThan(50);
  });
  test("of nothing is nothing", () => expect(windowOf(300, 460, 46, 0)).toEqual({ first: 0, end: 0, top: 0 }));
  test("of a list that became shorter shows its end", () => expect(windowOf(90_000, 460, 46, 20, 2).end).toBe(20));
});

describe("a step", () => {
  test("stays within the list", () => {
    expect(["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"].map((key) => step(key, 99, 100, 10))).toEqual([99, 98, 99, 89, 0, 99]);
  });
  test("is none for other keys or in an empty list", () => expect([step("a", 0, 5, 2), step("End", 0, 0, 2)]).toEqual([null, null]));
});

test("a row that is in view is not scrolled to, others just into view", () => {
  expect([scrollTo(5, 100, 460, 46), scrollTo(0, 100, 460, 46), scrollTo(20, 100, 460, 46)]).toEqual([100, 0, 506]);
});
