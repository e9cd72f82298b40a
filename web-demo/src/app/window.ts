/** Windows: which rows of a long list are worth making, given where it is scrolled. */

/** Rows `first` up to, not including, `end` are made; they begin `top` pixels below the list's start. */
export interface Window {
  first: number;
  end: number;
  top: number;
}

/** The rows in view and as many more as `spare` on both sides, so that a scroll shows rows and not white. */
export function windowOf(scroll: number, height: number, row: number, rows: number, spare = 12): Window {
  if (rows === 0 || row <= 0) return { first: 0, end: 0, top: 0 };
  const last = Math.max(0, rows * row - height);
  const at = Math.min(Math.max(0, scroll), last);
  const first = Math.max(0, Math.floor(at / row) - spare);
  const end = Math.min(rows, Math.ceil((at + height) / row) + spare);
  return { first, end, top: first * row };
}

/** Where to scroll so that row `index` is wholly in view; where it is already, nothing moves. */
export function scrollTo(index: number, scroll: number, height: number, row: number): number {
  const top = index * row;
  if (top < scroll) return top;
  if (top + row > scroll + height) return top + row - height;
  return scroll;
}

/** The row that a key leads to from row `from`, or null if the key does not move. `page` counts lines, in each of which `across`
 * rows stand side by side. */
export function step(key: string, from: number, rows: number, page: number, across = 1): number | null {
  if (rows === 0) return null;
  const aside = across > 1 ? { ArrowRight: from + 1, ArrowLeft: from - 1 }[key] : undefined;
  const to = aside ?? { ArrowDown: from + across, ArrowUp: from - across, PageDown: from + page * across, PageUp: from - page * across, Home: 0, End: rows - 1 }[key];
  if (to === undefined) return null;
  // Above the first line there is nothing.
  if (to < 0 && key === "ArrowUp" && across > 1) return from;
  return Math.min(rows - 1, Math.max(0, to));
}
