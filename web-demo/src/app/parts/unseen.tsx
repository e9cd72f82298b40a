/** Unseen: words that only a screen reader says. */

export const unseen = (words: string) => <span class="unseen">{words}</span>;
