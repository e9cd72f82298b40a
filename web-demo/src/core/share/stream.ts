//! Stream: bytes sealed in pieces by the STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár 2015), as age does it. The nonce
//! counts the pieces and marks the last one, so a piece that is altered, missing, moved or from elsewhere does not open.

/** Seals bytes as they come. Seals one stream with a key, and never another. */
export class Sealing {
  readonly #piece = new Uint8Array(PIECE);
  #held = 0;
  #pieces = 0;

  constructor(
    private readonly key: CryptoKey,
    private readonly put: (sealed: Uint8Array<ArrayBuffer>) => Promise<void>,
  ) {}

  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      // A full piece is sealed when more comes: only then it is not the last.
      if (this.#held === PIECE) await this.#seal(false);
      const part = bytes.subarray(at, at + PIECE - this.#held);
      this.#piece.set(part, this.#held);
      this.#held += part.length;
      at += part.length;
    }
  }

  /** Seals the last piece, which may be empty. */
  async end(): Promise<void> {
    await this.#seal(true);
  }

  async #seal(isLast: boolean): Promise<void> {
    const iv = nonce(this.#pieces, isLast);
    const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, this.key, this.#piece.subarray(0, this.#held));
    this.#pieces += 1;
    this.#held = 0;
    await this.put(new Uint8Array(sealed));
  }
}

/** Opens one piece of a stream. Throws if it is not this piece of it. */
export async function openPiece(key: CryptoKey, number: number, isLast: boolean, sealed: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv: nonce(number, isLast) }, key, sealed));
}

/** Opens a whole stream that is in memory. */
export async function openAll(key: CryptoKey, sealed: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const count = Math.max(1, Math.ceil(sealed.length / SEALED));
  const opened = new Uint8Array(Math.max(0, sealed.length - count * TAG));
  for (let number = 0; number < count; number++) {
    const piece = await openPiece(key, number, number === count - 1, sealed.subarray(number * SEALED, (number + 1) * SEALED));
    opened.set(piece, number * PIECE);
  }
  return opened;
}

/** How many pieces bytes of this length make: one at least. */
export function piecesOf(length: number): number {
  return Math.max(1, Math.ceil(length / PIECE));
}

/** The length of bytes once they are sealed. */
export function sealedLength(length: number): number {
  return length + TAG * piecesOf(length);
}

/** Eleven bytes of the piece's number, the highest first, and one that is 1 for the last piece. */
function nonce(number: number, isLast: boolean): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(12);
  new DataView(bytes.buffer).setBigUint64(3, BigInt(number));
  bytes[11] = isLast ? 1 : 0;
  return bytes;
}

/** Bytes of a piece, open and sealed; only the last one may be shorter. */
export const PIECE = 1 << 20;
const TAG = 16;
export const SEALED = PIECE + TAG;
/** Pieces of one stored object. */
export const PIECES = 16;
