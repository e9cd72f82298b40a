//! Service: what the display is told of the jobs that run beside the store, and of the room that is granted. The rules are those of
//! api.ts.

/** The service of the repository. */
export interface Service {
  /** The jobs of its schedule; null where the server tells of none, or this device may not know. */
  jobs: ScheduledJob[] | null;
  /** When prune last reported, and how much it deleted then; null: never, or this device may not know. */
  lastPrune: { time: number; freedBytes: number | null } | null;
  /** Quotas of this device, with what is used of them. */
  room: { stored: Room | null; daily: Room | null };
}

/** Bytes that are granted, and those of them that are used. */
export interface Room { quota: number; used: number }

/** What may be ordered. */
export type OrderedJob = "check" | "prune";

export interface ScheduledJob {
  job: OrderedJob | "expire" | "compact";
  /** Seconds from one run to the next; 0: never. */
  every: number;
  /** It runs, or was ordered and begins soon. */
  isRunning: boolean;
  /** When its last run ended; null: not since the service was started. */
  ended: number | null;
  isFailing: boolean;
}

/** The kept snapshots of a series, as far as the state tells of them without being opened. */
export interface Rhythm {
  series: string;
  client: string;
  /** When the newest of them were made, the newest first; 20 at most. */
  times: number[];
}

/** What tells whether something needs a person. */
export interface Watched {
  rhythms: Rhythm[];
  lastCheck: { time: number; outcome: "sound" | "damage" } | null;
  service: Service;
  /** When the oldest kept snapshot was accepted; null: there is none. */
  since: number | null;
}
