/** Measures: sizes and times, as far as no language says them. For the page of share links too, which has words of its own. */

/** Writes a number with so many digits behind the point. */
export type Digits = (value: number, after: number) => string;

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** A size with three digits, in the units of the command line; whoever calls writes numbers as its language does. */
export function sized(bytes: number, digits: Digits): string {
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  let value = bytes / 1024;
  let unit = 0;
  // Not at 1,024: "1000 KiB" would have a digit too many.
  while (value >= 999.5 && unit + 1 < UNITS.length) {
    value /= 1024;
    unit += 1;
  }
  return `${threeDigits(value, digits)} ${UNITS[unit] ?? ""}`;
}

function threeDigits(value: number, digits: Digits): string {
  if (value < 9.995) return digits(value, 2);
  if (value < 99.95) return digits(value, 1);
  return digits(value, 0);
}

/** "2026-03-12 14:05": of one width, for columns. */
export function stamp(time: number): string {
  const date = new Date(time);
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${pad(date.getHours())}:${pad(date.getMinutes())}`;
}

export function pad(value: number): string {
  return value.toString().padStart(2, "0");
}
