//! Gathered: a place that is written to in large pieces. A zip of small files is some thirty thousand small writes for ten
//! thousand files, and each of them costs a way to the browser and back.

import type { Place } from "./place";

/** Keeps what is written one after another until it is worth a write; what was kept may be written over. */
export class Gathered implements Place {
  readonly #kept = new Uint8Array(MOST);
  #length = 0;
  /** Where what is kept begins. */
  #start = 0;

  constructor(private readonly place: Place) {}

  async write(bytes: Uint8Array<ArrayBuffer>, at: number): Promise<void> {
    const within = at - this.#start;
    const isBeside = within >= 0 && within <= this.#length;
    if (isBeside && within + bytes.length <= MOST) {
      this.#kept.set(bytes, within);
      this.#length = Math.max(this.#length, within + bytes.length);
      return;
    }
    await this.#flush();
    if (bytes.length > MOST || at < this.#start) return this.place.write(bytes, at);
    this.#start = at;
    this.#kept.set(bytes);
    this.#length = bytes.length;
  }

  async truncate(length: number): Promise<void> {
    await this.#flush();
    this.#start = length;
    await this.place.truncate(length);
  }

  async close(): Promise<void> {
    await this.#flush();
    await this.place.close();
  }

  drop(): Promise<void> {
    this.#length = 0;
    return this.place.drop();
  }

  async #flush(): Promise<void> {
    if (this.#length === 0) return;
    // Without a copy: nothing is kept anew before the place has taken it.
    const [bytes, at] = [this.#kept.subarray(0, this.#length), this.#start];
    [this.#start, this.#length] = [at + bytes.length, 0];
    await this.place.write(bytes, at);
  }
}

const MOST = 1 << 20;
