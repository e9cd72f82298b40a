/** What a screen reader says by itself: one polite region for the whole page. */

import { signal } from "@preact/signals";

export const said = signal("");

export function say(words: string): void {
  said.value = words;
}
