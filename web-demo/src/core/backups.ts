//! Backups: folders, how a backup of one goes, and what comes of it. The rules are those of api.ts.

import type { Problem } from "./api";

export interface Folder {
  id: string;
  name: string;
  /** What a backup of it is called unless the person says otherwise: files that were chosen one by one have one name, whichever
   * they are. */
  label: string;
  /** Files that were chosen one by one: the next backup of the name holds others. */
  isFiles?: boolean;
  via: "picker" | "input" | "drop";
  /** The folder can be opened again without choosing it (picker; dropped directories in Chromium). */
  canRemember: boolean;
  /** Known at once for input; null while nobody has walked it. */
  files: number | null;
  bytes: number | null;
  /** What this way of choosing cannot see, to be said before the start. "odd-names": such as `a?b`, which Chromium hides.
   * "names-not-text": names that are not UTF-8. */
  blindTo: ("odd-names" | "names-not-text" | "empty-folders" | "links" | "permissions")[];
}

export interface RememberedFolder {
  id: string;
  name: string;
  label: string;
  lastBackup: number | null;
  files: number | null;
  bytes: number | null;
  excludes: string[];
  /** The person wants it backed up whenever the page is opened. */
  automatic: boolean;
  /** Whether the browser will open it without asking. */
  permission: "granted" | "ask";
}

/** A backup that was closed, stopped or crashed: the next one of this folder and label goes on from it. */
export interface UnfinishedBackup {
  id: string;
  /** The folder's name. */
  name: string;
  label: string;
  excludes: string[];
  time: number;
  /** Bytes of the folder that are not sent again. */
  safeBytes: number;
  /** The remembered folder; null if it must be chosen again. */
  folder: string | null;
}

export interface BackupOptions {
  folder: string;
  /** Names the source: backups with one label are one series. Default: the folder's label. */
  label: string;
  /** As in .gitignore: `*.tmp`, `node_modules/`, `/build`, `!keep.tmp`. */
  excludes: string[];
  remember: boolean;
  /** What this browser is called from now on, where it is no device yet. Fails with "name-taken" if another device that has saved
   * something is called so. */
  device?: string;
}

export type BackupPhase =
  | "preparing" // reads the index and the kept trees
  | "scanning" // totals not yet known
  | "uploading"
  | "finishing" // last packs and the manifest
  | "verifying"; // waiting for the receipt

export interface BackupProgress {
  phase: BackupPhase;
  state: "running" | "paused" | "offline" | "retrying";
  /** Why it is offline or retrying, and when it tries again. */
  problem: Problem | null;
  retryAt: number | null;
  /** `expected`: about how much there is, where that can be told before `total` is known. */
  files: { done: number; total: number | null; expected: number | null; unchanged: number };
  /** `read`: taken from the folder; `done`: of these, what is unchanged, stored already, or gone to the server. */
  bytes: { done: number; read: number; total: number | null; expected: number | null };
  /** Of the bytes done: in unchanged files; in chunks that were there already; new, before compression. */
  unchangedBytes: number;
  knownBytes: number;
  newBytes: number;
  /** Sealed bytes that the server has taken, and those still to go of what is packed. */
  storedBytes: number;
  waitingBytes: number;
  /** Covered by a manifest: not lost if the tab closes now. */
  securedBytes: number;
  /** Bytes a second, smoothed. */
  rate: number;
  /** Seconds, null while nobody can say. */
  eta: number | null;
  currentFile: string | null;
  /** Bytes a second while busy, and the share of time busy, 0 to 1. */
  stages: Record<"read" | "hash" | "compress" | "seal" | "upload", { rate: number; busy: number }>;
  workers: number;
  leftOut: LeftOut;
}

/** What was not backed up, and why. Counts are exact, `examples` the first hundred of each. */
export interface LeftOut {
  excluded: number;
  unreadable: number;
  /** Changed while being read, three times in a row: the last reading is what is stored. */
  changing: number;
  /** Names that no file system could restore (control characters, a slash in a name). */
  badNames: number;
  examples: { path: string; why: "excluded" | "unreadable" | "changing" | "bad-name"; detail: string | null }[];
}

export interface BackupResult {
  snapshot: string;
  time: number;
  seconds: number;
  files: number;
  newFiles: number;
  changedFiles: number;
  unchangedFiles: number;
  bytes: number;
  newBytes: number;
  knownBytes: number;
  storedBytes: number;
  packs: number;
  resumed: boolean;
  /** "waiting": the manifest is stored, the service has not answered yet; event "changed" says when to look again. */
  receipt: "verified" | "waiting";
  leftOut: LeftOut;
}
