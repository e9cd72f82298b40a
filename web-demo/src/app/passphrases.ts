/** Passphrases: what makes one easy to guess, and how a code that was noted is compared. */

import { keys as words } from "../words/keys";

/** What makes a passphrase easy to guess, as far as that can be seen; null: nothing. */
export function weakness(text: string): string | null {
  const signs = [...text.normalize("NFC")];
  if (signs.length === 0) return null;
  if (signs.length < SIGNS) return words.short(SIGNS);
  if (new Set(signs.map((sign) => sign.toLocaleLowerCase())).size < DIFFERENT) return words.repeats;
  return null;
}

/** The last group of a recovery code. */
export function lastGroup(code: string): string {
  return code.split("-").at(-1) ?? "";
}

/** Whether somebody has noted a group as it is: letters that look like digits count as these, as the engine reads them. */
export function isNoted(typed: string, group: string): boolean {
  const plain = (text: string) => text.toUpperCase().replace(/[\s-]/g, "").replace(/[IL]/g, "1").replace(/O/g, "0");
  return plain(typed) === plain(group);
}

/** Whoever reads the storage may guess without end, at the price of Argon2id for each guess. */
const SIGNS = 12;
const DIFFERENT = 6;
