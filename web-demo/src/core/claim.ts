//! Claim: whether a manifest ends a backup. Read without its signature, and only to tell a person what is being verified.

import { toHex } from "./digits";

/** Whether a manifest claims a snapshot. Manifests that only claim packs, or a checkpoint, are steps on the way to one. */
export function claimsSnapshot(manifest: Uint8Array): boolean {
  const reader = new Reader(manifest);
  // Keys of docs/format.md, section 5.3.
  return reader.goTo(SNAPSHOT) && reader.goTo(PARTIAL) && reader.next() === FALSE;
}

/** What a manifest claims: packs, by the first half of their ids, with their lengths; and the source of the snapshot or checkpoint, if it
 * has one. */
export interface Claim { packs: [id: string, bytes: number][]; source: string | null }

/** Reads what a manifest claims, without its signature: numbers to show to a person. */
export function claimOf(manifest: Uint8Array): Claim {
  const packs: Claim["packs"] = [];
  const listed = new Reader(manifest);
  if (listed.goTo(PACKS)) for (let left = Math.min(listed.count(), PACKS_MOST); left > 0; left--) {
    listed.count();
    packs.push([listed.bytesInHex().slice(0, 32), listed.count()]);
  }
  const claimed = new Reader(manifest);
  return { packs, source: claimed.goTo(SNAPSHOT) && claimed.goTo(SOURCE) ? claimed.bytesInHex() : null };
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

  /** The number that stands here, or of how many items an array has. */
  count(): number {
    return this.#item().value;
  }

  bytesInHex(): string {
    const { major, value } = this.#item();
    if (major !== BYTES || this.#at + value > this.bytes.length) throw new RangeError("a manifest has no bytes where an id belongs");
    return toHex(this.bytes.subarray(this.#at, (this.#at += value)));
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
const PACKS = 5;
const PACKS_MOST = 64;
const SNAPSHOT = 6;
const SOURCE = 3;
const PARTIAL = 1;
const FALSE = 0xf4;
const [BYTES, TEXT, ARRAY, MAP] = [2, 3, 4, 5];
/** Bytes of a number behind the first byte, by what that says. */
const WIDTHS: Record<number, number> = { 24: 1, 25: 2, 26: 4, 27: 8 };
