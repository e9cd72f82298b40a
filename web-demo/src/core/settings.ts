//! Settings: what a person has chosen for this browser, and what it keeps for visits without a network. The rules are those of api.ts.

import type { ProblemCode } from "./api";
import type { SnapshotList } from "./snapshots";

export interface Settings {
  /** Minutes without a sign of the person, then it locks (never while a run is under way). 0: never. */
  idleMinutes: number;
  /** Seconds of warning before. */
  idleWarningSeconds: number;
  /** Workers that read and compress. 0: as the machine allows, at most 4. */
  workers: number;
  compression: "fast" | "balanced";
  theme: "system" | "light" | "dark";
  /** The language of the page; the browser's, as far as the page speaks it, unless one was chosen. */
  language: "system" | "en" | "de";
  /** Whether the system shows a notification when a backup ends and nobody looks at the page. */
  notify: boolean;
  /** Warnings of the session that the person has read: they stand in the settings only from then on. */
  readWarnings: ProblemCode[];
  /** How folders of a snapshot are shown. */
  folders: "list" | "gallery";
  /** Days without a backup of a series, then the page says so. 0: never. */
  staleDays: number;
  /** Whether the page opens without a network; changed by `setOffline` alone. */
  offline: boolean;
  /** What a GB costs in a month, in dollars; null: no cost is shown. */
  price: number | null;
  /** Series that nobody expects backups of any more. */
  quietSeries: string[];
}

/** The list of snapshots as the server told it last, for a page without it. */
export interface LastKnown extends SnapshotList { time: number }
