//! Held: chunks that are new and in no block yet. They stay where the workers have read them, and are copied once.

/** New chunks, in order. */
export class Held {
  #chunks: Uint8Array[] = [];
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

  /** The bytes of the next block, which has chunks of these lengths. A worker finds whether they are the right ones. */
  block(lengths: Uint32Array): Uint8Array<ArrayBuffer> {
    const total = lengths.reduce((sum, length) => sum + length, 0);
    const spare = this.#spare.pop();
    const room = spare && spare.byteLength >= total ? spare : new ArrayBuffer(Math.ceil(total / STEP) * STEP);
    const raw = new Uint8Array(room, 0, total);
    let end = 0;
    for (const chunk of this.#chunks.splice(0, lengths.length)) {
      raw.set(chunk, end);
      end += chunk.length;
    }
    return raw;
  }

  /** Takes the buffer of a block back. */
  reuse(raw: ArrayBuffer): void {
    if (this.#spare.length < SPARE) this.#spare.push(raw);
  }
}

/** Buffers are as long as blocks are at most, or a multiple of this. */
const STEP = 1 << 18;
/** Buffers kept. */
const SPARE = 4;
