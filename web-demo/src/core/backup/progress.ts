//! Progress of a backup, as it is told.

import type { BackupProgress, LeftOut } from "../api";
import type { Labour } from "../work/pool";
import type { Waiting } from "../coordinator/runs";
import { Rate, eta } from "../coordinator/control";
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
  securedBytes = 0;
  currentFile: string | null = null;
  sealedBytes = 0;
  uploadMs = 0;
  rawBytes = 0;
  waiting: Waiting = null;
  leftOut: LeftOut = noneLeftOut();
  readonly begun = performance.now();
  #rate = new Rate();

  /** Goes through the folder, once more if what it was compared with has changed; what was uploaded stays so. */
  begin(): void {
    Object.assign(this, { phase: "preparing", filesDone: 0, bytesDone: 0, unchangedFiles: 0, unchangedBytes: 0, readBytes: 0, newBytes: 0, leftOut: noneLeftOut() });
  }

  /** Notes something that is not, or not as it should be, in the snapshot. */
  leave(path: string, why: LeftOut["examples"][number]["why"], detail: string | null = null): void {
    const counter = { excluded: "excluded", unreadable: "unreadable", changing: "changing", "bad-name": "badNames" } as const;
    this.leftOut[counter[why]] += 1;
    // Each reason has its hundred, so that what is left out on purpose does not hide what went wrong.
    if (this.leftOut[counter[why]] <= EXAMPLES) this.leftOut.examples.push({ path, why, detail });
  }

  /** The whole state. */
  tell(found: Found, labour: Labour | null, isPaused: boolean): BackupProgress {
    const now = performance.now();
    const total = found.isComplete ? found : null;
    const rate = isPaused ? 0 : this.#rate.at(now, this.bytesDone);
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
      files: { done: this.filesDone, total: total?.files ?? null, unchanged: this.unchangedFiles },
      bytes: { done: this.bytesDone, total: total?.bytes ?? null },
      unchangedBytes: this.unchangedBytes,
      knownBytes: Math.max(0, this.readBytes - this.newBytes),
      newBytes: this.newBytes,
      storedBytes: this.storedBytes,
      waitingBytes: Math.max(0, this.packedBytes - this.storedBytes),
      securedBytes: this.securedBytes,
      rate,
      eta: eta(rate, this.bytesDone, total?.bytes ?? null),
      currentFile: this.currentFile,
      stages: {
        read: stage(this.readBytes, spent.read, hands),
        hash: stage(this.readBytes, spent.hash, hands),
        compress: stage(this.rawBytes, spent.compress, hands),
        seal: stage(this.sealedBytes, spent.seal, hands),
        upload: stage(this.storedBytes, this.uploadMs, UPLOADS),
      },
      workers: hands,
      leftOut: { ...this.leftOut, examples: [...this.leftOut.examples] },
    };
  }
}

function noneLeftOut(): LeftOut {
  return { excluded: 0, unreadable: 0, changing: 0, badNames: 0, examples: [] };
}

/** Packs on their way at once. */
export const UPLOADS = 3;
/** Of each reason so many are named. */
const EXAMPLES = 100;
