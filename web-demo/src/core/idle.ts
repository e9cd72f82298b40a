//! Idle: locks what nobody has touched for a while, and warns before.

/** What time depends on; tests bring their own. */
export interface Clock {
  now(): number;
  every(ms: number, tick: () => void): () => void;
}

/** Watches for a sign of the person. */
export class Idle {
  #touched: number;
  #stop: (() => void) | null = null;
  #isWarned = false;

  constructor(
    private readonly clock: Clock,
    private readonly told: {
      /** Milliseconds without a sign, 0 for never, and of warning before. */
      limits: () => { idle: number; warning: number };
      /** Whether something is under way that must not be locked away. */
      isBusy: () => boolean;
      soon: (secondsLeft: number | null) => void;
      lock: () => void;
    },
  ) {
    this.#touched = clock.now();
  }

  start(): void {
    this.stop();
    this.#touched = this.clock.now();
    this.#stop = this.clock.every(1_000, () => this.#tick());
  }

  stop(): void {
    this.#stop?.();
    this.#stop = null;
    this.#isWarned = false;
  }

  /** The person did something. If that comes too late, as what wakes a machine that slept does, it changes nothing. */
  touch(): void {
    const { idle } = this.told.limits();
    if (this.#stop && idle > 0 && this.#touched + idle <= this.clock.now() && !this.told.isBusy()) return this.#tick();
    this.#stay();
  }

  /** Looks at once: the clock may have gone on while no timer did, as in a tab that was frozen. */
  look(): void {
    if (this.#stop) this.#tick();
  }

  #stay(): void {
    this.#touched = this.clock.now();
    if (this.#isWarned) this.told.soon(null);
    this.#isWarned = false;
  }

  #tick(): void {
    const { idle, warning } = this.told.limits();
    if (idle === 0) return;
    if (this.told.isBusy()) return this.#stay();
    const left = this.#touched + idle - this.clock.now();
    if (left <= 0) {
      this.stop();
      this.told.lock();
    } else if (left <= warning) {
      this.#isWarned = true;
      this.told.soon(Math.ceil(left / 1000));
    }
  }
}

/** The browser's clock, which goes on while a machine sleeps. */
export const wallClock: Clock = {
  now: () => Date.now(),
  every: (ms, tick) => {
    const timer = setInterval(tick, ms);
    return () => clearInterval(timer);
  },
};
