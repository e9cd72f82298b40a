/** Numbers: as the language writes them. */

import { language } from "./language";

const formats = new Map<string, Intl.NumberFormat>();

/** A number with so many digits behind the point. */
export function digits(value: number, after: number): string {
  const key = `${language()} ${after}`;
  const made = formats.get(key) ?? new Intl.NumberFormat(language(), { minimumFractionDigits: after, maximumFractionDigits: after });
  formats.set(key, made);
  return made.format(value);
}

/** A whole number, with separators. */
export function count(value: number): string {
  return digits(value, 0);
}

/** "1 file", "2,000 files"; several are the word with an "s" where nothing else is given. */
export function counted(value: number, one: string, several = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : several}`;
}
