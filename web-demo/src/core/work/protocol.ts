//! Messages between the coordinator and a worker: one that reads and compresses, or one that stretches a passphrase.

import type { Action, Parameters } from "../engine";

/** To a worker that stretches. `module`: the one that every browser loads. */
export interface Stretch {
  module: WebAssembly.Module;
  slot: Uint8Array;
  passphrase: string;
}

/** From it: what opens the slot; or the browser's or the engine's name for why there is nothing. */
export type Stretched = { key: Uint8Array<ArrayBuffer> } | { reason: string };

/** From the coordinator. */
export type ToWorker =
  /** `module`: the one for sealing. */
  | { type: "begin"; module: WebAssembly.Module; key: Uint8Array<ArrayBuffer>; parameters: Parameters; level: number }
  /** Small files, to be read whole, or what was read of them. */
  | { type: "read"; job: number; files: (File | Uint8Array<ArrayBuffer>)[] }
  /** A large file, window by window, or its size: then the worker wants each part of it. */
  | { type: "stream"; job: number; file: File | number }
  /** A part that was wanted; shorter if the file ends before that; or the browser's name for why there is none. */
  | { type: "slice"; job: number; slice: Uint8Array<ArrayBuffer> | string }
  /** One more window of that file may come. */
  | { type: "more"; job: number }
  | { type: "drop"; job: number }
  /** What blocks are sealed with from now on: the cipher's key, which cannot be taken out, and the one that makes nonces. */
  | { type: "session"; cipher: CryptoKey; key: Uint8Array<ArrayBuffer> }
  | { type: "seal"; job: number; block: Block };

/** A large file of which each part is read by itself. */
export interface Slices {
  size: number;
  /** Fewer bytes if the file ends before that. */
  read(start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
}

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
  | { type: "ready" }
  | { type: "read"; job: number; results: Read[]; spent: Spent }
  | { type: "window"; job: number; ids: Uint8Array; lengths: Uint32Array; bytes: Uint8Array<ArrayBuffer>; spent: Spent }
  /** A part of a large file that whoever asked is to read. */
  | { type: "want"; job: number; start: number; end: number }
  | { type: "end"; job: number; size: number; reason: string | null }
  | { type: "sealed"; job: number; sealed: Sealed; spent: Spent }
  | { type: "failed"; job: number | null; reason: string };
