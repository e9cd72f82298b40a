//! Messages between the coordinator and a worker that reads and compresses.

import type { Action, Cut, Parameters } from "../engine";

/** From the coordinator. */
export type ToWorker =
  /** What opens a key slot, made of a passphrase. A worker that does this does nothing else. */
  | { type: "stretch"; module: WebAssembly.Module; slot: Uint8Array; passphrase: string }
  | { type: "begin"; module: WebAssembly.Module; key: Uint8Array<ArrayBuffer>; parameters: Parameters; level: number }
  /** Small files, to be read whole, or what was read of them. */
  | { type: "read"; job: number; files: (File | Uint8Array<ArrayBuffer>)[] }
  /** A large file, window by window. */
  | { type: "stream"; job: number; file: File }
  /** One more window of that file may come. */
  | { type: "more"; job: number }
  | { type: "drop"; job: number }
  /** What blocks are sealed with from now on: the cipher's key, which cannot be taken out, and the one that makes nonces. */
  | { type: "session"; cipher: CryptoKey; key: Uint8Array<ArrayBuffer> }
  | { type: "seal"; job: number; block: Block };

/** A block to be compressed and sealed. */
export type Block = Omit<Extract<Action, { type: "seal" }>, "type" | "raw"> & { raw: Uint8Array<ArrayBuffer> };

/** A block as a pack stores it, and the buffer of its bytes for the next one. */
export interface Sealed {
  stored: Uint8Array<ArrayBuffer>;
  raw: ArrayBuffer;
}

/** What became of one file. */
export type Read =
  | { kind: "inline"; bytes: Uint8Array<ArrayBuffer> }
  | { kind: "chunks"; ids: Uint8Array; lengths: Uint32Array; bytes: Uint8Array<ArrayBuffer> }
  | { kind: "failed"; reason: string };

/** Seconds of work, for who watches. */
export interface Spent {
  read: number;
  hash: number;
  compress: number;
  seal: number;
}

/** From a worker. */
export type FromWorker =
  | { type: "stretched"; key: Uint8Array<ArrayBuffer> }
  | { type: "ready" }
  | { type: "read"; job: number; results: Read[]; spent: Spent }
  | { type: "window"; job: number; ids: Uint8Array; lengths: Uint32Array; bytes: Uint8Array<ArrayBuffer>; spent: Spent }
  | { type: "end"; job: number; size: number; reason: string | null }
  | { type: "sealed"; job: number; sealed: Sealed; spent: Spent }
  | { type: "failed"; job: number | null; reason: string };

export type { Cut };
