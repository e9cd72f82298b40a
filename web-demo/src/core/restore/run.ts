//! Restore: entries of a snapshot into a target. Windows of content come in tree order; every piece is verified before it
//! is handed over, and a file of which anything is damaged is left out and named.

import type { EntryId, RestoreProgress, RestoreResult } from "../api";
import type { EntryFacts, Piece, Restore } from "../engine";
import { release } from "../buffers";
import { failure, problem } from "../problem";
import { type Control, Rate, eta } from "../coordinator/control";
import type { Waiting } from "../coordinator/runs";
import { type Books, steered } from "./books";
import type { Shelf } from "./shelf";
import type { Target } from "./targets";

/** One restore. */
export class RestoreRun {
  #files = { done: 0, total: 0 };
  #bytes = { done: 0, total: 0 };
  #fetched = 0;
  #current: string | null = null;
  #waiting: Waiting = null;
  #rate = new Rate();
  #damaged: RestoreResult["damaged"] = [];
  #skipped: RestoreResult["skipped"] = [];
  #control: Control | null = null;

  constructor(
    private readonly books: Books,
    private readonly snapshot: string,
    private readonly ids: EntryId[],
  ) {}

  /** Restores into the target; what is not finished is dropped. */
  async run(control: Control, target: () => Promise<Target>): Promise<RestoreResult> {
    this.#control = control;
    const begun = performance.now();
    const total = await this.books.measure(this.snapshot, this.ids, control);
    [this.#files.total, this.#bytes.total] = [total.files, total.bytes];
    const open = await target();
    try {
      await this.books.withTree(this.snapshot, async (tree, shelf) => {
        const restore = tree.restore(this.ids, 0, null);
        try {
          await this.#windows(restore, shelf, open, control);
        } finally {
          restore.free();
        }
      });
      if (this.ids.length === 1 && total.files === 1 && this.#damaged.length === 1) throw failure("damaged", this.#damaged[0]!.path);
      await open.finish();
    } catch (error) {
      await open.drop().catch(() => {});
      throw isRoomGone(error) ? failure("browser-full") : error;
    }
    const seconds = (performance.now() - begun) / 1000;
    return { files: this.#files.done, bytes: this.#bytes.done, seconds, damaged: this.#damaged, skipped: this.#skipped };
  }

  progress(): RestoreProgress {
    const waiting = this.#waiting;
    const isPaused = this.#control?.isPaused ?? false;
    const rate = isPaused ? 0 : this.#rate.at(performance.now(), this.#bytes.done);
    return {
      state: isPaused ? "paused" : waiting === null ? "running" : waiting.problem.code === "offline" ? "offline" : "retrying",
      problem: waiting?.problem ?? null,
      retryAt: waiting?.until ?? null,
      files: { ...this.#files },
      bytes: { ...this.#bytes },
      fetchedBytes: this.#fetched,
      rate,
      eta: eta(rate, this.#bytes.done, this.#bytes.total),
      currentFile: this.#current,
      damaged: this.#damaged.length,
    };
  }

  /** Takes window after window. A file's bytes wait while something of them was no good and another copy is sought, and so
   * does what comes behind it. */
  async #windows(restore: Restore, shelf: Shelf, target: Target, control: Control): Promise<void> {
    const patience = steered(control, (waiting) => (this.#waiting = waiting));
    const queue = new Queue();
    for (;;) {
      await control.gate();
      if (control.isCancelled) throw failure("cancelled");
      const window = restore.next();
      if (window.needs.length > 0) {
        await shelf.supply(window.needs, patience);
        continue;
      }
      for (const entry of window.entries) queue.add(entry);
      queue.take(window.pieces);
      for (const { file, path } of window.damaged) {
        if (file === null || file === undefined) this.#damage(path);
        else queue.spoil(file);
      }
      queue.whole(window.ends);
      await this.#write(queue, target);
      if (window.isDone) break;
      await shelf.read(window.reads, patience, async (bytes, at) => {
        this.#fetched += bytes?.length ?? 0;
        for await (const pieces of shelf.take(restore, at, bytes)) queue.take(pieces);
      });
      queue.hold(restore.unsettled);
      await this.#write(queue, target);
    }
    queue.spoilRest();
    await this.#write(queue, target);
  }

  /** Writes as much as is sure, in order. */
  async #write(queue: Queue, target: Target): Promise<void> {
    for (const file of queue.files()) {
      const { entry } = file;
      this.#current = entry.path;
      if (file.isSpoilt) {
        if (file.isBegun && !file.isSkipped) await target.abort();
        this.#bytes.done -= file.at;
        this.#damage(entry.path);
        queue.drop(entry.file);
        continue;
      }
      if (file.isHeld) return;
      if (!file.isBegun) {
        const why = await target.begin(entry);
        file.isBegun = true;
        file.isSkipped = why !== null;
        if (why) this.#skipped.push({ path: entry.path, why });
      }
      if (entry.kind === "file" && !file.isSkipped) {
        for (const piece of file.pieces.sort((a, b) => a.offset - b.offset)) {
          await this.#zeros(file, piece.offset, target);
          await target.data(piece.bytes as Uint8Array<ArrayBuffer>);
          file.at += piece.bytes.length;
          this.#bytes.done += piece.bytes.length;
          // The target has taken it.
          release(piece.bytes.buffer);
        }
        file.pieces = [];
        if (!file.isWhole) return;
        await this.#zeros(file, entry.size, target);
        if (file.at !== entry.size) throw failure("internal", "restore");
        await target.end();
        this.#files.done += 1;
      }
      file.pieces = [];
      if (entry.kind === "file" && !file.isWhole) return;
      queue.drop(entry.file);
    }
  }

  #damage(path: string): void {
    this.#damaged.push({ path, problem: problem("damaged", path) });
  }

  /** What no piece covers was never written, and reads as zeros. */
  async #zeros(file: OpenFile, until: number, target: Target): Promise<void> {
    while (file.at < until) {
      const bytes = new Uint8Array(Math.min(until - file.at, ZEROS));
      await target.data(bytes);
      file.at += bytes.length;
      this.#bytes.done += bytes.length;
    }
  }
}

interface OpenFile {
  entry: EntryFacts & { file: number };
  pieces: Piece[];
  /** Bytes written. */
  at: number;
  isBegun: boolean;
  isSkipped: boolean;
  /** Something of it was no good: another copy may come. */
  isHeld: boolean;
  isSpoilt: boolean;
  isWhole: boolean;
}

/** Files that were begun and are not written yet, in tree order. */
class Queue {
  #open = new Map<number, OpenFile>();

  add(entry: EntryFacts & { file: number }): void {
    this.#open.set(entry.file, { entry, pieces: [], at: 0, isBegun: false, isSkipped: false, isHeld: false, isSpoilt: false, isWhole: false });
  }

  take(pieces: Piece[]): void {
    for (const piece of pieces) this.#open.get(piece.file)?.pieces.push(piece);
  }

  hold(files: Uint32Array): void {
    const held = new Set(files);
    for (const [number, file] of this.#open) file.isHeld = held.has(number);
  }

  spoil(file: number): void {
    const found = this.#open.get(file);
    if (found) found.isSpoilt = true;
  }

  whole(files: Iterable<number>): void {
    for (const number of files) {
      const file = this.#open.get(number);
      if (file) [file.isWhole, file.isHeld] = [true, false];
    }
  }

  /** Nothing comes any more: what is not whole will never be. */
  spoilRest(): void {
    for (const file of this.#open.values()) file.isSpoilt ||= file.entry.kind === "file" && !file.isWhole;
  }

  drop(file: number): void {
    this.#open.delete(file);
  }

  files(): Iterable<OpenFile> {
    return this.#open.values();
  }
}

function isRoomGone(error: unknown): boolean {
  return error instanceof DOMException && error.name === "QuotaExceededError";
}


/** Zeros written at once. */
const ZEROS = 1 << 20;
