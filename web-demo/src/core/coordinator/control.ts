//! Control: how a person steers something that takes time, and what is told of it meanwhile.

import { failure } from "../problem";

/** Steers one run. */
export class Control {
  /** Given when nothing may go on but the last claim. */
  readonly #abort = new AbortController();
  readonly #noClaim = new AbortController();
  #isPaused = false;
  #isCancelled = false;
  #wake: (() => void)[] = [];

  /** Ends requests under way once the run is to stop for good. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Ends the last claim. A person who cancels leaves it some seconds more than the rest; the end of a session none. */
  get claimSignal(): AbortSignal {
    return this.#noClaim.signal;
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

  /** Asks for an end; after `grace` milliseconds only the last claim goes on. */
  cancel(grace: number): void {
    this.#isCancelled = true;
    this.resume();
    abortAfter(this.#abort, grace);
    abortAfter(this.#noClaim, grace && grace + CLAIMING);
  }

  /** Ends at once, or once it goes on. */
  async gate(): Promise<void> {
    while (this.#isPaused && !this.#isCancelled) await new Promise<void>((resolve) => this.#wake.push(resolve));
    this.signal.throwIfAborted();
  }
}

function abortAfter(ending: AbortController, ms: number): void {
  const abort = () => ending.abort(failure("cancelled"));
  if (ms === 0) abort();
  else setTimeout(abort, ms);
}

/** Bytes a second over the last seconds: what was longer ago counts less. */
export class Rate {
  #last: { time: number; bytes: number } | null = null;
  #bytes = 0;
  #seconds = 0;

  /** `memory`: seconds over which it forgets. */
  constructor(private readonly memory = MEMORY) {}

  /** Takes the bytes done so far at this time in milliseconds. */
  at(time: number, bytes: number): number {
    const last = (this.#last ??= { time, bytes });
    const seconds = (time - last.time) / 1000;
    if (seconds >= STEP) {
      const stays = Math.exp(-seconds / this.memory);
      this.#bytes = this.#bytes * stays + Math.max(0, bytes - last.bytes);
      this.#seconds = this.#seconds * stays + seconds;
      this.#last = { time, bytes };
    }
    return this.#seconds > 0 ? this.#bytes / this.#seconds : 0;
  }
}

/** Seconds left, or null while nobody can say. */
export function eta(rate: number, done: number, total: number | null): number | null {
  const left = total === null ? Number.NaN : Math.max(0, total - done) / rate;
  return left <= FORESEEABLE ? left : null;
}

/** Milliseconds that a cancelled run has for its last claim. */
const CLAIMING = 10_000;
/** More seconds than this are a guess. */
const FORESEEABLE = 30 * 86_400;
/** Seconds between looks, and over which the rate forgets. */
const STEP = 0.25;
const MEMORY = 4;
