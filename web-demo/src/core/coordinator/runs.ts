//! Runs: what takes time and is steered and watched by the page.

import type { Problem } from "../api";
import { problemOf } from "../problem";
import type { FromCoordinator } from "../rpc";
import { Control } from "./control";

/** Why something waits, and until when. */
export type Waiting = { problem: Problem; until: number | null } | null;

/** A run before it is begun: what tells how far it is, and what does it. */
export interface Begun<Progress, Result> {
  progress: () => Progress;
  work: (control: Control) => Promise<Result>;
}

/** All runs of this session. */
export class Runs {
  #running = new Map<number, Control>();
  #next = 1;

  constructor(private readonly post: (message: FromCoordinator, transfer?: Transferable[]) => void) {}

  /** Begins a run; what becomes of it is told by messages. */
  start<Progress, Result>({ progress, work }: Begun<Progress, Result>): number {
    const run = this.#next++;
    const control = new Control();
    this.#running.set(run, control);
    const tell = () => this.post({ type: "progress", run, progress: progress() });
    const timer = setInterval(tell, PROGRESS_EVERY);
    void (async () => {
      // Whoever asked has to know the run's number first.
      await Promise.resolve();
      try {
        const result = await work(control);
        tell();
        this.post({ type: "ended", run, result });
      } catch (error) {
        tell();
        this.post({ type: "failed", run, problem: control.isCancelled ? problemOf(new DOMException("", "AbortError")) : problemOf(error) });
      } finally {
        clearInterval(timer);
        this.#running.delete(run);
      }
    })();
    return run;
  }

  steer(run: number, control: "pause" | "resume" | "cancel"): void {
    const found = this.#running.get(run);
    if (control === "cancel") found?.cancel(CANCEL_GRACE);
    else found?.[control]();
  }

  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** Ends all at once. */
  stop(): void {
    for (const control of this.#running.values()) control.cancel(0);
  }
}

/** Milliseconds between two looks at a run. */
const PROGRESS_EVERY = 200;
/** So long a cancelled backup may take to claim what it has stored. */
const CANCEL_GRACE = 15_000;
