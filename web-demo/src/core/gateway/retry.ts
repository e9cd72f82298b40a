//! Retry: how often and how long after a failure something is tried again, and how it waits while there is no network.

import { CopalError, problem } from "../problem";
import type { Problem } from "../api";

/** What waiting depends on; tests bring their own. */
export interface Surroundings {
  /** Milliseconds, never going back. */
  now(): number;
  /** Ends after so long, or when the signal is given. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** From 0 to 1. */
  random(): number;
  isOnline(): boolean;
  /** Ends once there is a network again. */
  online(signal: AbortSignal): Promise<void>;
}

/** Told why something waits, and until when; null once it goes on. */
export type OnWait = (waiting: { problem: Problem; until: number | null } | null) => void;

/** How much patience there is. */
export interface Patience {
  /** Failures in a row before it is given up. */
  tries: number;
  signal: AbortSignal;
  onWait?: OnWait;
}

/** A failure that may pass. */
export class Passing extends Error {
  constructor(
    readonly problem: Problem,
    /** Seconds the server asked to wait. */
    readonly after: number | null = null,
  ) {
    super(problem.code);
  }
}

/** Does `work` until it succeeds, fails for good, or patience ends. Time without a network does not count. */
export async function retried<T>(surroundings: Surroundings, patience: Patience, work: () => Promise<T>): Promise<T> {
  let failures = 0;
  let waited = false;
  for (;;) {
    patience.signal.throwIfAborted();
    try {
      const result = await work();
      if (waited) patience.onWait?.(null);
      return result;
    } catch (error) {
      if (!(error instanceof Passing)) throw error;
      if (!surroundings.isOnline()) {
        waited = true;
        patience.onWait?.({ problem: problem("offline"), until: null });
        await surroundings.online(patience.signal);
        continue;
      }
      failures += 1;
      if (failures >= patience.tries) throw new CopalError(error.problem);
      const delay = Math.max(backoff(failures, surroundings.random()), (error.after ?? 0) * 1000);
      waited = true;
      patience.onWait?.({ problem: error.problem, until: surroundings.now() + delay });
      await surroundings.sleep(delay, patience.signal);
    }
  }
}

/** Milliseconds before the next try: doubled each time, and anything between half of that and all of it, so that many
 * clients do not come back together. */
export function backoff(failures: number, random: number): number {
  const whole = Math.min(FIRST * 2 ** (failures - 1), LONGEST);
  return whole / 2 + (whole / 2) * random;
}

/** The browser's clock, network and chance. */
export const browser: Surroundings = {
  now: () => Date.now(),
  random: () => Math.random(),
  isOnline: () => navigator.onLine,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
  online: (signal) =>
    new Promise((resolve, reject) => {
      if (navigator.onLine) return resolve();
      // A worker is not always told that the network is back: it is tried now and then.
      const timer = setTimeout(resolve, TRIED_AGAIN);
      addEventListener("online", () => resolve(), { once: true, signal });
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
};

const TRIED_AGAIN = 5_000;

/** Patience for what somebody waits for: some ten seconds, and what the tries take. */
export const BRIEF = 6;
/** Patience of a backup: as long as it takes. */
export const ENDLESS = Number.POSITIVE_INFINITY;

const FIRST = 500;
const LONGEST = 30_000;

