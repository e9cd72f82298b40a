//! Claim: whether a manifest ends a backup. Read without its signature, and only to tell a person what is being verified.

/** Whether a manifest claims a snapshot. Manifests that only claim packs, or a checkpoint, are steps on the way to one. */
export function claimsSnapshot(manifest: Uint8Array): boolean {
  const reader = new Reader(manifest);
  // Keys of docs/format.md, section 5.3.
  return reader.goTo(SNAPSHOT) && reader.goTo(PARTIAL) && reader.next() === FALSE;
}

/** Walks through CBOR as records have it: of definite lengths. */
class Reader {
  #at = HEAD;

  constructor(private readonly bytes: Uint8Array) {}

  /** Enters a map and stops at the value of a key. False if the map has no such key. */
  goTo(key: number): boolean {
    for (let left = this.#item().value; left > 0; left--) {
      if (this.#item().value === key) return true;
      this.#skip();
    }
    return false;
  }

  next(): number {
    const byte = this.bytes[this.#at++];
    if (byte === undefined) throw new RangeError("a manifest ends too early");
    return byte;
  }

  #item(): { major: number; value: number } {
    const head = this.next();
    const width = WIDTHS[head & 31] ?? 0;
    let value = width === 0 ? head & 31 : 0;
    for (let i = 0; i < width; i++) value = value * 256 + this.next();
    return { major: head >> 5, value };
  }

  #skip(): void {
    const { major, value } = this.#item();
    if (major === BYTES || major === TEXT) this.#at += value;
    if (major === ARRAY || major === MAP) for (let left = major === MAP ? 2 * value : value; left > 0; left--) this.#skip();
  }
}

/** Bytes before the body of a record. */
const HEAD = 14;
const SNAPSHOT = 6;
const PARTIAL = 1;
const FALSE = 0xf4;
const [BYTES, TEXT, ARRAY, MAP] = [2, 3, 4, 5];
/** Bytes of a number behind the first byte, by what that says. */
const WIDTHS: Record<number, number> = { 24: 1, 25: 2, 26: 4, 27: 8 };
