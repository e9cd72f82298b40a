/** Way: in which direction lines are written. What is computed from left to right is turned here where they are written to the left. */

/** False where there is no document, in workers and tests. */
function isLeftward(): boolean {
  return globalThis.document?.dir === "rtl";
}

/** A number with a unit in Latin letters is read from left to right in every sentence. */
export function isolated(text: string): string {
  return isLeftward() ? `\u2066${text}\u2069` : text;
}

/** Where something stands that is `at` pixels from the beginning of a line, in pixels from the left; and the other way round. */
export function turned(at: number, width: number): number {
  return isLeftward() ? width - at : at;
}

/** The arrow key that leads on where lines are written to the right is "ArrowRight", whichever was pressed. */
export function keyAlong(key: string): string {
  if (!isLeftward()) return key;
  return key === "ArrowLeft" ? "ArrowRight" : key === "ArrowRight" ? "ArrowLeft" : key;
}
