/** Plain words for what the core names with a code. */

import type { BackupProgress, Folder, LeftOut, Troubles } from "../core/api";
import { plain as words } from "../words/plain";

export function blindness(blindTo: Folder["blindTo"]): string {
  return listed(blindTo.map((what) => words.blind[what]));
}

/** "a", "a and b", "a, b and c". */
export function listed(several: string[]): string {
  const last = several.at(-1) ?? "";
  return several.length < 2 ? last : words.and(several.slice(0, -1).join(", "), last);
}

export function phaseWords(progress: BackupProgress | null): string {
  return progress ? words.phases[progress.phase] : words.starting;
}

/** Why a file was not read, where the browser has a name for it. */
export function reasonWords(detail: string): string {
  const { reasons } = words;
  return Object.hasOwn(reasons, detail) ? reasons[detail as keyof typeof reasons] : detail;
}

/** What was not saved although it should have been: what was left out on purpose is not among it. */
export function troubles(leftOut: LeftOut): number {
  return leftOut.unreadable + leftOut.changing + leftOut.badNames;
}

export function leftOutWords({ unreadable, changing, badNames, excluded }: LeftOut): string {
  const parts: string[] = [];
  if (unreadable > 0) parts.push(words.unreadable(unreadable));
  if (changing > 0) parts.push(words.changing(changing));
  if (badNames > 0) parts.push(words.badNames(badNames));
  if (excluded > 0) parts.push(words.excluded(excluded));
  return parts.length === 0 ? "" : `${listed(parts)}.`;
}

/** What a snapshot lacks, and what is not of one moment in it. */
export function troubleWords({ unreadable, changing }: Troubles): string {
  const parts: string[] = [];
  if (unreadable > 0) parts.push(words.unreadableThen(unreadable));
  if (changing > 0) parts.push(words.changing(changing));
  return parts.join("; ");
}
