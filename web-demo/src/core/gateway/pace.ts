//! Pace: how fast the line takes what is uploaded, and how much is sent at once so that each pack is safe soon.

/** How much is sent at once. */
export interface Load {
  /** Packs on their way. */
  uploads: number;
  /** Bytes that a pack has about. */
  pack: number;
}

/** The speed of the line: bytes over the time in which something was on its way. What was long ago counts little. */
export class Pace {
  #bytes = 0;
  #ms = 0;
  #under = 0;
  #last = 0;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** A pack is on its way from now on. */
  begin(): void {
    this.#pass();
    this.#under += 1;
  }

  /** It has arrived, or not. */
  end(bytes: number): void {
    this.#pass();
    this.#under -= 1;
    this.#bytes += bytes;
  }

  /** Bytes a second; null while nobody can say. */
  get rate(): number | null {
    this.#pass();
    return this.#bytes > 0 && this.#ms > 0 ? (this.#bytes * 1000) / this.#ms : null;
  }

  /** What the line can take: a gateway ends an upload that is slower than 16 KiB/s, and what is on its way is lost with the tab. */
  get load(): Load {
    const { rate } = this;
    if (rate === null) return { uploads: 1, pack: LEAST };
    const uploads = rate < SLOW ? 1 : rate < MIDDLING ? 2 : MOST_UPLOADS;
    return { uploads, pack: Math.round(Math.min(Math.max((rate * SECONDS) / uploads, LEAST), MOST)) };
  }

  #pass(): void {
    const now = this.now();
    const passed = this.#under > 0 ? now - this.#last : 0;
    this.#last = now;
    const stays = Math.exp(-passed / MEMORY);
    this.#bytes *= stays;
    this.#ms = this.#ms * stays + passed;
  }
}

/** Packs on their way at once, at most. */
export const MOST_UPLOADS = 3;
/** Bytes a second below which one pack is sent at a time, or two. */
const SLOW = 128 << 10;
const MIDDLING = 512 << 10;
/** Seconds that a pack takes on its way. */
const SECONDS = 8;
/** Bytes of a pack. */
const LEAST = 512 << 10;
const MOST = 16 << 20;
/** Milliseconds after which what was measured counts for a third. */
const MEMORY = 30_000;
