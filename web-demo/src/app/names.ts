/** Names: as they may be shown. In no language, for the page of share links too. */

/** A name as it may be shown: characters that control, that turn the direction of writing or that nobody sees are made
 * visible. The same as the engine's `shown`. */
export function shown(name: string): string {
  return name.replace(UNSHOWN, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`);
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The joiners that some writing uses are among them: a name with one must not pass for a name without. */
const UNSHOWN = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
