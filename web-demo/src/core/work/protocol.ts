//! Messages between the coordinator and a worker that reads and compresses.

import type { Cut, Parameters } from "../engine";

/** From the coordinator. */
export type ToWorker =
  | { type: "begin"; module: WebAssembly.Module; key: Uint8Array<ArrayBuffer>; parameters: Parameters; level: number }
  /** Small files, read whole. */
  | { type: "read"; job: number; files: File[] }
  /** A large file, window by window. */
  | { type: "stream"; job: number; file: File }
  /** One more window of that file may come. */
  | { type: "more"; job: number }
  | { type: "drop"; job: number }
  | { type: "compress"; job: number; lengths: Uint32Array; raw: Uint8Array };

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
}

/** From a worker. */
export type FromWorker =
  | { type: "ready" }
  | { type: "read"; job: number; results: Read[]; spent: Spent }
  | { type: "window"; job: number; ids: Uint8Array; lengths: Uint32Array; bytes: Uint8Array<ArrayBuffer>; spent: Spent }
  | { type: "end"; job: number; size: number; reason: string | null }
  | { type: "compressed"; job: number; plaintext: Uint8Array<ArrayBuffer>; digest: Uint8Array; spent: Spent }
  | { type: "failed"; job: number | null; reason: string };

export type { Cut };
