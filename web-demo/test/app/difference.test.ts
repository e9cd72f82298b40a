import { describe, expect, test } from "vitest";

import { sideBySide, type DifferenceRow } from "../../src/app/difference";

/** What stands on one side, put together again. */
const side = (rows: DifferenceRow[], which: "before" | "after") => rows.flatMap((row) => (row.kind !== "skipped" && row[which] ? [row[which]] : []));
const changes = (rows: DifferenceRow[]) => rows.reduce((sum, row) => sum + (row.kind === "changed" ? Number(row.before !== null) + Number(row.after !== null) : 0), 0);

/** The number of lines that two lists have in common, in order, by looking at all. */
function common(a: string[], b: string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) table[i]![j] = a[i] === b[j] ? 1 + table[i + 1]![j + 1]! : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
  return table[0]![0]!;
}

describe("two texts side by side", () => {
  test("are both whole, numbered, and differ in as little as they can", () => {
    let state = 7;
    const random = (below: number) => (state = (state * 48_271) % 0x7fffffff) % below;
    for (let round = 0; round < 400; round++) {
      const lines = () => Array.from({ length: random(14) }, () => `line ${random(4)}`);
      const [a, b] = [lines(), lines()];
      const rows = sideBySide(a.map((line) => `${line}\n`).join(""), b.join("\n"), null);
      for (const [which, expected] of [["before", a], ["after", b]] as const) {
        expect(side(rows, which).map(({ text }) => text)).toEqual(expected);
        expect(side(rows, which).map(({ number }) => number)).toEqual(expected.map((_, at) => at + 1));
      }
      expect(changes(rows), `${a} → ${b}`).toBe(a.length + b.length - 2 * common(a, b));
    }
  });

  test("show what stands in place of what, and a few lines around it", () => {
    const before = Array.from({ length: 20 }, (_, at) => `${at}`);
    const after = before.with(10, "ten");
    const rows = sideBySide(before.join("\n"), after.join("\n"), 2);
    expect(rows[0]).toEqual({ kind: "skipped", lines: 8 });
    expect(rows[3]).toEqual({ kind: "changed", before: { number: 11, text: "10" }, after: { number: 11, text: "ten" } });
    expect(rows.map(({ kind }) => kind).join(" ")).toBe("skipped same same changed same same skipped");
    expect(rows.at(-1)).toEqual({ kind: "skipped", lines: 7 });
  });

  test("that have nothing in common are laid beside each other soon, however long they are", () => {
    const lines = (word: string) => Array.from({ length: 60_000 }, (_, at) => `${word} ${at}`);
    const start = performance.now();
    const rows = sideBySide(lines("a").join("\n"), lines("b").join("\n"), 3);
    expect(rows).toHaveLength(60_000);
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});
