/** Differences: the lines of two texts side by side. */

export interface Line {
  number: number;
  text: string;
}

/** A row of two texts side by side: the same line, what stands in place of what, or lines that are the same and left out. */
export type DifferenceRow =
  | { kind: "same"; before: Line; after: Line }
  | { kind: "changed"; before: Line | null; after: Line | null }
  | { kind: "skipped"; lines: number };

/** Lays two texts side by side. Of lines that are the same, `around` beside each change are told; null: all. */
export function sideBySide(before: string, after: string, around: number | null): DifferenceRow[] {
  const rows: DifferenceRow[] = [];
  let [removed, added]: [Line[], Line[]] = [[], []];
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i += 1) rows.push({ kind: "changed", before: removed[i] ?? null, after: added[i] ?? null });
    [removed, added] = [[], []];
  };
  const [a, b] = [linesOf(before), linesOf(after)];
  let [at, to] = [0, 0];
  for (const step of steps(a, b)) {
    if (step !== "added") at += 1;
    if (step !== "removed") to += 1;
    const [left, right] = [{ number: at, text: a[at - 1] ?? "" }, { number: to, text: b[to - 1] ?? "" }];
    if (step === "removed") removed.push(left);
    else if (step === "added") added.push(right);
    else {
      flush();
      rows.push({ kind: "same", before: left, after: right });
    }
  }
  flush();
  return around === null ? rows : shortened(rows, around);
}

type Step = "same" | "removed" | "added";

/** The shortest way from one list to another, found as Myers does ("An O(ND) Difference Algorithm"). */
function steps(a: readonly string[], b: readonly string[]): Step[] {
  let [start, ends] = [0, 0];
  const shorter = Math.min(a.length, b.length);
  while (start < shorter && a[start] === b[start]) start += 1;
  while (ends < shorter - start && a[a.length - 1 - ends] === b[b.length - 1 - ends]) ends += 1;
  const same = (number: number) => Array<Step>(number).fill("same");
  return [...same(start), ...between(a.slice(start, a.length - ends), b.slice(start, b.length - ends)), ...same(ends)];
}

function between(a: readonly string[], b: readonly string[]): Step[] {
  const most = Math.min(a.length + b.length, CHANGES_MAX);
  const middle = most + 1;
  /** How far one comes in `a` on each diagonal, and what that was before each change more. */
  const reach = new Int32Array(2 * most + 3);
  const before: Int32Array[] = [];
  const isDown = (reach: Int32Array, at: number, k: number, changes: number) => k === -changes || (k !== changes && reach[at - 1]! < reach[at + 1]!);
  for (let changes = 0; changes <= most; changes += 1) {
    before.push(reach.slice(middle - changes - 1, middle + changes + 2));
    for (let k = -changes; k <= changes; k += 2) {
      let x = isDown(reach, middle + k, k, changes) ? reach[middle + k + 1]! : reach[middle + k - 1]! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach[middle + k] = x;
      if (x < a.length || x - k < b.length) continue;
      // Back from the end.
      const found: Step[] = [];
      for (let [d, x, y] = [changes, a.length, b.length]; d >= 0; d -= 1) {
        const [at, k] = [x - y + d + 1, x - y];
        const wasDown = isDown(before[d]!, at, k, d);
        const from = before[d]![wasDown ? at + 1 : at - 1]!;
        const fromY = from - (wasDown ? k + 1 : k - 1);
        for (; x > from && y > fromY && x > 0 && y > 0; x -= 1, y -= 1) found.push("same");
        if (d > 0) found.push(wasDown ? "added" : "removed");
        [x, y] = [from, fromY];
      }
      return found.reverse();
    }
  }
  // They have next to nothing in common.
  return [...Array<Step>(a.length).fill("removed"), ...Array<Step>(b.length).fill("added")];
}

function shortened(rows: readonly DifferenceRow[], around: number): DifferenceRow[] {
  const near = new Uint8Array(rows.length);
  rows.forEach(({ kind }, at) => { if (kind === "changed") near.fill(1, Math.max(0, at - around), at + around + 1); });
  const left: DifferenceRow[] = [];
  rows.forEach((row, at) => {
    const last = left.at(-1);
    if (near[at]) left.push(row);
    else if (last?.kind === "skipped") last.lines += 1;
    else left.push({ kind: "skipped", lines: 1 });
  });
  return left;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** With more changes than this the search takes too long. */
const CHANGES_MAX = 1_500;
