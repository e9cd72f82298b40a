//! Opener: opens blocks with the browser's cipher, which is many times as fast as the engine's in WebAssembly. What it does not
//! open, or opens to anything else than was sealed, the engine opens itself, and says what is wrong with it.

import { release } from "../buffers";
import type { Library, Piece, Restore, SealedBlock } from "../engine";

/** Opens blocks of the repository of a library. */
export class Opener {
  #keys = new Map<number, Promise<CryptoKey>>();

  constructor(private readonly library: Pick<Library, "takeKey">) {}

  /** What a read of a restore's window gives; null: it could not be had. */
  async *take(restore: Restore, read: number, bytes: Uint8Array<ArrayBuffer> | null): AsyncGenerator<Piece[]> {
    if (bytes) {
      const opening = restore.sealed(read).map((block) => ({ block, opened: this.#open(block, bytes) }));
      for (const { block, opened } of opening) {
        const plaintext = await opened;
        if (!plaintext) continue;
        const iv = bytes.subarray(block.start, block.start + IV);
        const pieces = restore.takeOpened(read, block.start, iv, new Uint8Array(plaintext));
        release(plaintext);
        if (pieces) yield pieces;
      }
    }
    yield restore.take(read, bytes);
  }

  async #open({ start, end, session, additionalData }: SealedBlock, bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer | null> {
    try {
      const iv = bytes.subarray(start, start + IV);
      return await crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData }, await this.#key(session), bytes.subarray(start + IV, end));
    } catch {
      return null;
    }
  }

  /** The key of a session, which cannot be taken out again. */
  #key(session: number): Promise<CryptoKey> {
    const known = this.#keys.get(session);
    if (known) return known;
    const imported = this.#import(session);
    this.#keys.set(session, imported);
    return imported;
  }

  async #import(session: number): Promise<CryptoKey> {
    const key = this.library.takeKey(session);
    if (!key) throw new Error("the key was taken");
    try {
      return await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
    } finally {
      key.fill(0);
    }
  }
}

/** Bytes of a nonce. */
const IV = 12;
