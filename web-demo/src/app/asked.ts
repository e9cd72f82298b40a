/** Something that was asked for: it is on its way, here, or cannot be had. */

import type { Problem } from "../core/api";
import { problemOf } from "../core/problem";

export type Asked<Value> =
  | { at: "asking" }
  | { at: "here"; value: Value }
  | { at: "failed"; problem: Problem };

/** Follows a promise; `set` is called when there is an answer. */
export async function ask<Value>(promise: Promise<Value>, set: (asked: Asked<Value>) => void): Promise<void> {
  try {
    set({ at: "here", value: await promise });
  } catch (thrown) {
    set({ at: "failed", problem: problemOf(thrown) });
  }
}
