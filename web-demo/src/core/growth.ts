//! Growth: what the display is told of what devices have added to the repository. The rules are those of api.ts.

/** What each series has added, the largest first. */
export interface Growth { series: GrownSeries[] }
/** Of `total` backup steps `done` were read. */
export interface GrowthProgress { done: number; total: number }

/** A series, and what was stored for it: the bytes of its packs. Nothing that was freed since is taken off, and what two series share
 * counts for who stored it first. */
export interface GrownSeries {
  series: string;
  client: string;
  /** Names as its newest kept snapshot has them; null if none is kept. */
  source: string | null;
  device: string | null;
  bytes: number;
  /** All that had been added by the end of each day on which something was, oldest first. */
  points: { time: number; bytes: number }[];
}
