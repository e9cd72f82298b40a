//! Site: what a run works with, and what it is to back up.

import type { BackupStart, Client, Descriptor, View } from "../engine";
import type { Gateway } from "../gateway/client";
import type { Patience } from "../gateway/retry";
import type { Private } from "../keep/private";
import type { Scanned } from "../source/tree";
import type { Labour } from "../work/pool";

/** What a run works with. */
export interface Site {
  client: Client;
  descriptor: Descriptor;
  gateway: Gateway;
  labour: Labour;
  /** Compresses what the session seals itself. */
  compressor: BackupStart["compressor"];
  /** Copies of trees. */
  kept: Private;
  /** The newest state, read anew; whoever asks frees it. */
  openView(patience: Patience): Promise<View>;
  /** Signs with the manifest key, where WebCrypto holds it. */
  sign: ((message: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>) | null;
  /** Notes how many bytes of what is backed up are safe by now. */
  secured(bytes: number): Promise<void>;
  random(length: number): Uint8Array<ArrayBuffer>;
  now(): number;
}

/** What is backed up. */
export interface Task {
  host: string;
  label: string;
  paths: string[];
  program: string;
  /** How many bytes there are, excluded ones too, where that is known. */
  bytes: number | null;
  /** Counts the files ahead of the scan; null if it is over before that. */
  count?: (isOver: () => boolean) => Promise<number | null>;
  scan: () => AsyncIterable<Scanned>;
}
