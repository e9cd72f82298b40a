//! Progress of a backup, as it is told.

import type { BackupProgress, LeftOut } from "../api";
import type { Labour } from "../work/pool";
import type { Waiting } from "../coordinator/runs";
import { Rate, eta } from "../coordinator/control";
import { MOST_UPLOADS } from "../gateway/pace";
import type { Found } from "./reading";

/** What a run counts. */
export class Ledger {
  phase: BackupProgress["phase"] = "preparing";
  filesDone = 0;
  bytesDone = 0;
  unchangedFiles = 0;
  unchangedBytes = 0;
  readBytes = 0;
  newBytes = 0;
  packedBytes = 0;
  storedBytes = 0;
  /** Of the packs: stored, or on the way. */
  sentBytes = 0;
  /** Bytes of packs that manifests name. */
  claimedBytes = 0;
  securedBytes = 0;
  /** About how much there is to take, while the scan goes on; null while nobody can say. */
  expected: { files: number | null; bytes: number | null } = { files: null, bytes: null };
  currentFile: string | null = null;
  sealedBytes = 0;
  uploadMs = 0;
  rawBytes = 0;
  waiting: Waiting = null;
  leftOut: LeftOut = noneLeftOut();
  readonly begun = performance.now();
  #rate = new Rate();
  /** What is left is told from a longer look back. */
  #steady = new Rate(STEADY);

  /** Goes through the folder, once more if what it was compared with has changed; what was uploaded stays so. */
  begin(): void {
    Object.assign(this, { phase: "preparing", filesDone: 0, bytesDone: 0, securedBytes: 0, unchangedFiles: 0, unchangedBytes: 0, readBytes: 0, newBytes: 0, claimedBytes: 0, leftOut: noneLeftOut() });
  }

  /** Notes something that is not, or not as it should be, in the snapshot. */
  leave(path: string, why: LeftOut["examples"][number]["why"], detail: string | null = null): void {
    const counter = { excluded: "excluded", unreadable: "unreadable", changing: "changing", "bad-name": "badNames" } as const;
    this.leftOut[counter[why]] += 1;
    // Each reason has its hundred, so that what is left out on purpose does not hide what went wrong.
    if (this.leftOut[counter[why]] <= EXAMPLES) this.leftOut.examples.push({ path, why, detail });
  }

  /** Bytes of the files of which a number of packed bytes was made. */
  #unpacked(packed: number): number {
    return this.sealedBytes > 0 ? (packed * this.rawBytes) / this.sealedBytes : 0;
  }

  /** Notes what manifests cover: all that was taken, or of what is new only packs of so many bytes more. These hold at least about
   * as many bytes of files. */
  secure(packs: number | "all"): void {
    if (packs !== "all") this.claimedBytes += packs;
    const claimed = packs === "all" ? this.newBytes : Math.min(this.newBytes, this.claimedBytes * CONTENT);
    this.securedBytes = Math.max(this.securedBytes, Math.floor(this.bytesDone - this.newBytes + claimed));
  }

  /** Bytes that were read and, where they are new, are among so many bytes of packs. */
  #doneWith(packs: number): number {
    return Math.floor(this.bytesDone - Math.max(0, this.newBytes - this.#unpacked(packs)));
  }

  /** The whole state. */
  tell(found: Found, labour: Labour | null, isPaused: boolean): BackupProgress {
    const now = performance.now();
    const total = found.isComplete ? found : null;
    const done = this.#doneWith(this.sentBytes);
    // What has gone may wait on the way, in the system's buffers.
    const arrived = this.#doneWith(this.storedBytes);
    const rate = isPaused ? 0 : this.#rate.at(now, done);
    const steady = isPaused ? 0 : this.#steady.at(now, arrived);
    const elapsed = Math.max(now - this.begun, 1);
    const spent = labour?.spent ?? { read: 0, hash: 0, compress: 0, seal: 0 };
    const hands = labour?.workers ?? 1;
    const stage = (bytes: number, ms: number, lanes: number) => ({
      rate: ms > 0 ? (bytes * 1000) / ms : 0,
      busy: Math.min(1, ms / (elapsed * lanes)),
    });
    const { waiting } = this;
    return {
      phase: this.phase,
      state: isPaused ? "paused" : waiting === null ? "running" : waiting.problem.code === "offline" ? "offline" : "retrying",
      problem: waiting?.problem ?? null,
      retryAt: waiting?.until ?? null,
      files: { done: this.filesDone, total: total?.files ?? null, expected: this.expected.files, unchanged: this.unchangedFiles },
      bytes: { done, read: this.bytesDone, total: total?.bytes ?? null, expected: this.expected.bytes },
      unchangedBytes: this.unchangedBytes,
      knownBytes: Math.max(0, this.readBytes - this.newBytes),
      newBytes: this.newBytes,
      storedBytes: this.storedBytes,
      waitingBytes: Math.max(0, this.packedBytes - this.storedBytes),
      securedBytes: this.securedBytes,
      rate,
      eta: elapsed < FIRST_LOOK ? null : eta(steady, arrived, total?.bytes ?? this.expected.bytes),
      currentFile: this.currentFile,
      stages: {
        read: stage(this.readBytes, spent.read, hands),
        hash: stage(this.readBytes, spent.hash, hands),
        compress: stage(this.rawBytes, spent.compress, hands),
        seal: stage(this.sealedBytes, spent.seal, hands),
        upload: stage(this.storedBytes, this.uploadMs, MOST_UPLOADS),
      },
      workers: hands,
      leftOut: { ...this.leftOut, examples: [...this.leftOut.examples] },
    };
  }
}

function noneLeftOut(): LeftOut {
  return { excluded: 0, unreadable: 0, changing: 0, badNames: 0, examples: [] };
}

/** The part of a pack that is content of files, where nothing of it could be compressed. */
const CONTENT = 0.99;
/** Seconds over which the rate forgets that tells what is left, and milliseconds before anything is told. */
const STEADY = 20;
const FIRST_LOOK = 3_000;
/** Of each reason so many are named. */
const EXAMPLES = 100;
