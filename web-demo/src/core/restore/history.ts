//! History: the versions of one entry over many snapshots.

import type { EntryId, Snapshot, Version, Versions } from "../api";
import type { Control } from "../coordinator/control";
import { Sweep } from "../engine";
import { failure, problem } from "../problem";
import type { Books } from "./books";
import { entryOf } from "./shown";

/** What one snapshot has at the path: a version, nothing, or nobody can say. */
export type Standing = Pick<Version, "entry" | "content" | "problem"> & { number: number | null };

/** Looks an entry up in the snapshots of its series, or in all. */
export async function history(books: Books, snapshot: string, file: EntryId, isWide: boolean, control: Control, tell: (progress: Versions) => void): Promise<Versions> {
  const all = await books.known();
  const of = all.find(({ id }) => id === snapshot);
  if (!of) throw failure("snapshot-gone");
  const chosen = all.filter(({ series }) => isWide || series === of.series);
  const known = new Map<number, Standing>();
  const standings: Standing[] = [];
  let result: Versions = { versions: [], looked: 0, total: chosen.length };
  await books.sweep(chosen.map(({ id }) => id), () => Sweep.at(file), null, control, (part) => {
    for (const { number, content, ...facts } of part.found) known.set(number, { entry: entryOf(facts), content, problem: null, number });
    standings[part.tree] ??= NOTHING;
    for (const number of [...part.found.map(({ number }) => number), ...part.again]) standings[part.tree] = known.get(number)!;
    if (part.damaged.length > 0) standings[part.tree] = { ...NOTHING, problem: problem("damaged", part.damaged[0]) };
    if (part.needs.length > 0 || part.isDone) {
      // The last one is whole only at its end.
      const looked = part.isDone ? standings.length : part.tree;
      tell((result = { versions: versionsOf(chosen.slice(0, looked), standings), looked, total: chosen.length }));
    }
    return true;
  });
  return result;
}

/** Puts together what follows each other in a series and is the same. Snapshots come newest first, and so do versions. Where a
 * series begins without the entry, it is not told: it was not deleted then. */
export function versionsOf(snapshots: readonly Snapshot[], standings: readonly Standing[]): Version[] {
  const bySeries = new Map<string, { number: number | null; isDamaged: boolean; version: Version }[]>();
  snapshots.forEach(({ id, series, troubles }, at) => {
    const incomplete = troubles.unreadable > 0;
    const { number, entry, content, problem } = standings[at]!;
    const runs = bySeries.get(series) ?? [];
    bySeries.set(series, runs);
    const run = runs.at(-1);
    if (run && run.number === number && run.isDamaged === (problem !== null)) {
      run.version.oldest = id;
      run.version.count += 1;
      run.version.incomplete ||= incomplete;
    } else {
      runs.push({ number, isDamaged: problem !== null, version: { series, entry, content, newest: id, oldest: id, count: 1, incomplete, problem } });
    }
  });
  const versions: Version[] = [];
  for (const runs of bySeries.values()) {
    const first = runs.findLastIndex(({ version }) => version.entry !== null);
    versions.push(...runs.filter(({ isDamaged }, at) => at <= first || isDamaged).map(({ version }) => version));
  }
  const place = new Map(snapshots.map(({ id }, at) => [id, at]));
  return versions.sort((a, b) => place.get(a.newest)! - place.get(b.newest)!);
}

const NOTHING: Standing = { number: null, entry: null, content: null, problem: null };
