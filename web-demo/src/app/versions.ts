/** Versions: what each of a file changed. */

import type { Version } from "../core/api";
import { versions as words } from "../words/versions";
import { size, when, within } from "./words";

/** The version of the same series that was there before one, whatever came between. */
export function versionBefore(version: Version, versions: readonly Version[]): Version | null {
  return versions.slice(versions.indexOf(version) + 1).find(({ series, entry }) => series === version.series && entry !== null) ?? null;
}

/** Says what a version changed. `isWhole`: all snapshots were looked into, so that nothing older can come. */
export function changeOf(version: Version, versions: readonly Version[], now: number, isWhole = true): string {
  const { entry, content, series } = version;
  if (version.problem) return words.change.unread;
  if (!entry) return words.change.absent;
  const older = versions.slice(versions.indexOf(version) + 1).filter((one) => one.series === series);
  const before = older.find((one) => one.entry !== null);
  if (!before?.entry) return !isWhole ? "" : older.length > 0 ? words.change.oldestRead : words.change.first;
  const isBack = older[0]?.entry === null && older[0].problem === null;
  const told = (change: string) => (isBack ? words.change.cameBack(change) : change);
  if (before.entry.kind !== entry.kind) return told(words.change.became[entry.kind]);
  if (before.content === content) return told(before.entry.modified === entry.modified ? words.change.same : words.change.onlyTime);
  const same = older.find((one) => one.content === content);
  if (same?.entry) return told(same.entry.modified === null ? words.change.sameAsOlder : words.change.sameAs(within(when(same.entry.modified, now))));
  const more = entry.size - before.entry.size;
  return told(more === 0 ? words.change.content : more > 0 ? words.change.grew(size(more)) : words.change.shrank(size(-more)));
}
