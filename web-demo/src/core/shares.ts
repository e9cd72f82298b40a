//! Shares: what the display may know of them. The rules are those of api.ts.

import type { RestoreProgress, RestoreResult } from "./api";

/** A share that stands, as the server tells of it. */
export interface Share {
  id: string;
  /** What it was called when it was made; null if it cannot be read. */
  label: string | null;
  /** Milliseconds since 1970. */
  made: number;
  ends: number;
  /** How often it was opened, and how often it may be. */
  taken: number;
  count: number;
  /** Sealed bytes. */
  bytes: number;
}

/** What a person sets. */
export interface ShareTerms {
  label: string;
  days: number;
  count: number;
}

export type ShareProgress = RestoreProgress;

export interface ShareResult extends RestoreResult {
  /** Holds the key, and is kept nowhere. */
  link: string;
  ends: number;
}
