//! Roots: which of the listed names counts as the newest root's. Whoever may create objects may create names.

/** Whether a name is a root's whose number needs no others that lead up to it. */
export function isPlain(name: string): boolean {
  const number = numberOf(name);
  return number !== null && number <= LEAP;
}

/** The newest root that is believed, of all names in byte order: numbers count as far as steps lead up to them. */
export function newestBelieved(names: readonly string[]): string | null {
  let newest: { name: string; number: number } | null = null;
  for (const name of [...names].reverse()) {
    const number = numberOf(name);
    if (number !== null && (newest === null || number - newest.number <= LEAP)) newest = { name, number };
  }
  return newest?.name ?? null;
}

/** The number in a root's name, which is its complement of 20 digits; null if it is not a root's name. */
function numberOf(name: string): number | null {
  const digits = /^roots\/(\d{20})$/.exec(name)?.[1];
  const number = digits === undefined ? 0n : NINES - BigInt(digits);
  return number > 0n && number <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(number) : null;
}

const NINES = 99_999_999_999_999_999_999n;
/** `ROOT_LEAP` of docs/format.md §12. */
const LEAP = 2 ** 40;
