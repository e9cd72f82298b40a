//! Messages between the page and its coordinator. The page asks, the coordinator answers, and tells what happens by itself.

import type { CoreEvent, Problem } from "./api";

/** From the page. */
export type ToCoordinator =
  | { type: "call"; id: number; method: string; args: unknown[] }
  | { type: "control"; run: number; control: "pause" | "resume" | "cancel" };

/** From the coordinator. A run is answered with its number; its progress and end follow. */
export type FromCoordinator =
  | { type: "answer"; id: number; value: unknown }
  | { type: "refusal"; id: number; problem: Problem }
  | { type: "begun"; id: number; run: number }
  | { type: "progress"; run: number; progress: unknown }
  | { type: "ended"; run: number; result: unknown }
  | { type: "failed"; run: number; problem: Problem }
  | { type: "event"; event: CoreEvent };
