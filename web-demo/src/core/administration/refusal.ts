//! Refusal: what can go wrong here only, in words for a person.

import type { AdministrationCode } from "../administration";
import { CopalError } from "../problem";

/** Makes the error of a code; the subject is what it is about. */
export function refusal(code: AdministrationCode, subject: string | null = null): CopalError {
  const [title, advice] = WORDS[code];
  return new CopalError({ code, title, advice, subject, canRetry: false });
}

/** Has the engine do what it may refuse; its codes that are met here only are told in these words. */
export function asked<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    const code = (thrown as { code?: unknown } | null)?.code;
    throw typeof code === "string" && code in OF_ENGINE ? refusal(OF_ENGINE[code]!) : thrown;
  }
}

const OF_ENGINE: Record<string, AdministrationCode> = {
  "key-in-use": "key-in-use",
  "last-key": "last-key",
  absent: "key-gone",
  "bad-invitation": "invitation-malformed",
};

const WORDS: Record<AdministrationCode, [title: string, advice: string]> = {
  "not-confirmed": ["This needs the passphrase again", "Close this and begin anew."],
  "key-in-use": ["You have confirmed with the very key that you want to remove", "Confirm with another one: that proves that another one works."],
  "last-key": ["This is the only key", "Add another passphrase or a recovery code first. Without any, nobody could open the repository again."],
  "key-gone": ["A copy of the key that you have confirmed with is missing", "Nothing was removed. Somebody may be removing that key: close this and begin anew. If it stays so, “copal repair” writes the copy again."],
  "key-unproven": ["The new key was not stored as it should be", "Nothing was removed: what opened the repository before still does. Try again, or ask whoever runs the server."],
  "invitation-malformed": ["Nobody can be let in so", "A name has 1 to 4,096 bytes, and a link works for 90 days at most. A write-only device needs a server that takes in its backups."],
  "invitation-name-taken": ["There is a device of this name already", "Give the new one another name, so that you can tell their backups apart."],
};
