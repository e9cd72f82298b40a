//! Control: how a person steers something that takes time, and what is told of it meanwhile.

import { failure } from "../problem";

/** Steers one run. */
export class Control {
  /** Given when nothing may go on, also no last manifest. */
  readonly #abort = new AbortController();
  #isPaused = false;
  #isCancelled = false;
  #wake: (() => void)[] = [];

  /** Ends requests under way once the run is to stop for good. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether the run is to come to an end at the next good place. */
  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** Asks for an end; after `grace` milliseconds it is over whatever is under way. */
  cancel(grace: number): void {
    this.#isCancelled = true;
    this.resume();
    if (grace === 0) this.#abort.abort(failure("cancelled"));
    else setTimeout(() => this.#abort.abort(failure("cancelled")), grace);
  }

  /** Ends at once, or once it goes on. */
  async gate(): Promise<void> {
    while (this.#isPaused && !this.#isCancelled) await new Promise<void>((resolve) => this.#wake.push(resolve));
    this.signal.throwIfAborted();
  }
}

/** Bytes a second, smoothed over some seconds. */
export class Rate {
  #last: { time: number; bytes: number } | null = null;
  #rate = 0;

  /** Takes the bytes done so far at this time in milliseconds. */
  at(time: number, bytes: number): number {
    const last = (this.#last ??= { time, bytes });
    const seconds = (time - last.time) / 1000;
    if (seconds >= STEP) {
      const now = Math.max(0, bytes - last.bytes) / seconds;
      const weight = this.#rate === 0 ? 1 : 1 - Math.exp(-seconds / MEMORY);
      this.#rate += weight * (now - this.#rate);
      this.#last = { time, bytes };
    }
    return this.#rate;
  }
}

/** Seconds left, or null while nobody can say. */
export function eta(rate: number, done: number, total: number | null): number | null {
  return total === null || rate <= 0 ? null : Math.max(0, total - done) / rate;
}

/** Seconds between looks, and over which the rate forgets. */
const STEP = 0.25;
const MEMORY = 4;
