//! Held: chunks that are new and in no block yet. They stay where the workers have read them until their block is made, or
//! until what they came in is wanted back.

import { release } from "../buffers";

/** New chunks, in order. */
export class Held {
  #chunks: Uint8Array[] = [];
  /** So many of them, the first ones, lie one behind the other in a buffer of our own. */
  #kept = 0;
  #room = new Uint8Array(0);
  /** Buffers of blocks that were sealed: a new one is paid for page by page. */
  #spare: ArrayBuffer[] = [];

  /** Keeps those of some chunks that are new. */
  add(bytes: Uint8Array, lengths: Uint32Array, isNew: Uint8Array): void {
    let end = 0;
    for (let at = 0; at < lengths.length; at++) {
      const start = end;
      end += lengths[at]!;
      if (isNew[at] === 1) this.#chunks.push(bytes.subarray(start, end));
    }
  }

  /** Copies what is not our own yet: whoever has handed in chunks may use its buffers for something else. That is less than a
   * block, where blocks are made as soon as they are full. */
  keep(): void {
    if (this.#kept === this.#chunks.length) return;
    const last = this.#chunks[this.#kept - 1];
    let end = last ? last.byteOffset + last.length : 0;
    const total = this.#chunks.slice(this.#kept).reduce((sum, { length }) => sum + length, end);
    if (total > this.#room.length) this.#grow(total, end);
    for (; this.#kept < this.#chunks.length; this.#kept++) {
      const chunk = this.#chunks[this.#kept]!;
      this.#room.set(chunk, end);
      this.#chunks[this.#kept] = this.#room.subarray(end, (end += chunk.length));
    }
  }

  /** The bytes of the next block, which has chunks of these lengths. A worker finds whether they are the right ones. */
  block(lengths: Uint32Array): Uint8Array<ArrayBuffer> {
    const total = lengths.reduce((sum, length) => sum + length, 0);
    const spare = this.#spare.pop();
    const room = spare && spare.byteLength >= total ? spare : new ArrayBuffer(stepped(total));
    if (spare && spare !== room) release(spare);
    const raw = new Uint8Array(room, 0, total);
    let end = 0;
    for (const chunk of this.#chunks.splice(0, lengths.length)) {
      raw.set(chunk, end);
      end += chunk.length;
    }
    this.#kept = Math.max(0, this.#kept - lengths.length);
    return raw;
  }

  /** Takes the buffer of a block back. */
  reuse(raw: ArrayBuffer): void {
    if (this.#spare.length < SPARE) this.#spare.push(raw);
    else release(raw);
  }

  /** Moves what is our own, as far as that goes, to where more has room. */
  #grow(total: number, end: number): void {
    const room = new Uint8Array(stepped(total));
    room.set(this.#room.subarray(0, end));
    for (let at = 0; at < this.#kept; at++) {
      const { byteOffset, length } = this.#chunks[at]!;
      this.#chunks[at] = room.subarray(byteOffset, byteOffset + length);
    }
    release(this.#room.buffer);
    this.#room = room;
  }
}

function stepped(total: number): number {
  return Math.ceil(total / STEP) * STEP;
}

/** Buffers are as long as blocks are at most, or a multiple of this. */
const STEP = 1 << 18;
/** Buffers kept. */
const SPARE = 4;
