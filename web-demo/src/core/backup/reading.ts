//! Reading: what the scan finds, compared with the last backup, and the files that have to be read, read ahead.

import { type Backup, type FileFacts, inColumns } from "../engine";
import type { Labour } from "../work/pool";
import type { Read } from "../work/protocol";
import type { Window } from "../work/stream";
import type { Content } from "../source/list";
import type { Scanned } from "../source/tree";
import { Budget, Channel } from "../coordinator/channel";
import type { Control } from "../coordinator/control";

/** What is on its way to the session, in tree order: entries that are read each by itself, others as many as follow each
 * other. */
export type Item =
  | Same
  | { kind: "read"; facts: FileFacts; open: () => Promise<File>; result: Promise<Opened>; cost: number }
  | { kind: "stream"; facts: FileFacts; open: () => Promise<File>; begun: Promise<Begun>; cost: number }
  | { kind: "left-out"; found: Extract<Scanned, { kind: "left-out" }> };

/** Entries that are as they were; of them files, and the bytes of these. */
export interface Same {
  kind: "same";
  entries: number;
  files: number;
  bytes: number;
}

/** A file that was read whole, as it was found then. */
export interface Opened {
  /** When the reading began, in milliseconds. */
  at: number;
  size: number;
  modified: number;
  read: Read;
  /** What nobody needs any more once this file is taken: several may have come in one buffer. */
  spent: ArrayBuffer | null;
}

/** A large file that is being read. */
export interface Begun {
  size: number;
  /** Not later than its bytes: a file that is written meanwhile is seen to be another one the next time. */
  modified: number;
  windows: AsyncIterableIterator<Window>;
}

/** What was found so far. */
export interface Found {
  files: number;
  bytes: number;
  isComplete: boolean;
}

/** Goes through a scan ahead of the session. */
export class Reader {
  readonly items = new Channel<Item>(ENTRIES_AHEAD, (item) => (item.kind === "same" ? item.entries : 1));
  readonly found: Found = { files: 0, bytes: 0, isComplete: false };
  #budget = new Budget(BYTES_AHEAD);
  /** Large files that were begun and not taken yet. */
  #begun = new Set<Promise<Begun>>();
  #group: { files: (() => Promise<File | Content>)[]; results: ((of: Promise<Opened>) => void)[]; bytes: number } = { files: [], results: [], bytes: 0 };

  constructor(
    private readonly backup: Pick<Backup, "compare">,
    private readonly labour: Labour,
    private readonly control: Control,
  ) {}

  /** Runs until the scan ends or nobody listens; errors come out of `items`. */
  async run(scan: AsyncIterable<Scanned>): Promise<void> {
    try {
      let batch: Scanned[] = [];
      for await (const found of scan) {
        await this.control.gate();
        batch.push(found);
        if (found.kind === "file") {
          this.found.files += 1;
          this.found.bytes += found.size;
        }
        if (batch.length >= BATCH) {
          if (!(await this.#pass(batch))) return;
          batch = [];
        }
      }
      this.found.isComplete = true;
      await this.#pass(batch);
      this.items.close();
    } catch (error) {
      this.#send();
      this.items.close(error);
    }
  }

  /** A file that was read has been taken. */
  taken(item: Extract<Item, { cost: number }>): void {
    if (item.kind === "stream") this.#begun.delete(item.begun);
    this.#budget.give(item.cost);
  }

  /** Nobody takes any more: what was begun is given up. */
  end(error: unknown): void {
    this.items.close(error);
    this.#budget.close();
    for (const begun of this.#begun) void begun.then(({ windows }) => windows.return?.()).catch(() => {});
  }

  async #pass(batch: Scanned[]): Promise<boolean> {
    const facts = batch.flatMap((found) => factsOf(found) ?? []);
    const verdicts = this.backup.compare(inColumns(facts));
    let [at, same] = [0, none()];
    for (const found of batch) {
      const number = found.kind === "left-out" ? -1 : at++;
      if (found.kind === "directory" || verdicts[number] === SAME) {
        same.entries += 1;
        if (found.kind !== "file") continue;
        same.files += 1;
        same.bytes += found.size;
        continue;
      }
      if (same.entries > 0 && !(await this.items.put(same))) return false;
      same = none();
      const item = found.kind === "left-out" ? ({ kind: "left-out", found } as const) : await this.#read(found, facts[number]!);
      if (item === null || !(await this.items.put(item))) return false;
    }
    this.#send();
    return same.entries === 0 || this.items.put(same);
  }

  /** Has a file read; null if nobody takes any more. */
  async #read(found: Extract<Scanned, { kind: "file" }>, facts: FileFacts): Promise<Item | null> {
    if (found.size > WHOLE) return this.#stream(found.open, facts);
    const cost = found.size + ITEM;
    if (!this.#budget.has(cost) || this.#group.bytes + found.size > GROUP_BYTES || this.#group.files.length >= GROUP_FILES) this.#send();
    if (!(await this.#budget.take(cost))) return null;
    const result = new Promise<Opened>((resolve) => this.#group.results.push(resolve));
    // If nobody comes to take it, its failure is nobody's.
    result.catch(() => {});
    this.#group.files.push(found.read ?? found.open);
    this.#group.bytes += found.size;
    return { kind: "read", facts, open: found.open, result, cost };
  }

  /** Begins to read a large file before it is its turn, so that workers do not wait for its first bytes then. */
  async #stream(open: () => Promise<File>, facts: FileFacts): Promise<Item | null> {
    if (!this.#budget.has(STREAM)) this.#send();
    if (!(await this.#budget.take(STREAM))) return null;
    const begun = begin(open, this.labour);
    this.#begun.add(begun);
    // If nobody comes to take it, its failure is nobody's.
    begun.catch(() => {});
    return { kind: "stream", facts, open, begun, cost: STREAM };
  }

  /** Has a worker read what was gathered. */
  #send(): void {
    const { files, results } = this.#group;
    if (files.length === 0) return;
    this.#group = { files: [], results: [], bytes: 0 };
    const all = readAll(files, this.labour);
    results.forEach((resolve, at) => resolve(all.then((opened) => opened[at]!)));
  }
}

/** Opens a large file and has a worker begin to read it. */
export async function begin(open: () => Promise<File>, labour: Labour): Promise<Begun> {
  const file = await open();
  return { size: file.size, modified: file.lastModified, windows: labour.stream(file) };
}

/** Opens and reads small files, many at once; each has its own outcome. */
export async function readAll(files: (() => Promise<File | Content>)[], labour: Labour): Promise<Opened[]> {
  const began = Date.now();
  const opened = await Promise.all(files.map((open) => open().catch((error: unknown) => String((error as Error)?.name ?? "unknown"))));
  const there = opened.filter((file) => typeof file !== "string");
  // Not later than their bytes.
  const times = there.map((file) => (file instanceof File ? file.lastModified : file.modified));
  const reads = there.length > 0 ? await labour.read(there.map((file) => (file instanceof File ? file : file.bytes))) : [];
  const last = new Map<ArrayBuffer, number>();
  for (const [at, read] of reads.entries()) if (read.kind !== "failed") last.set(read.bytes.buffer, at);
  let next = 0;
  return opened.map((file) => {
    if (typeof file === "string") return { at: began, size: 0, modified: 0, read: { kind: "failed", reason: file }, spent: null };
    const number = next++;
    const read = reads[number]!;
    const modified = times[number]!;
    if (read.kind === "failed") return { at: began, size: 0, modified, read, spent: null };
    return { at: began, size: read.bytes.length, modified, read, spent: last.get(read.bytes.buffer) === number ? read.bytes.buffer : null };
  });
}

function none(): Same {
  return { kind: "same", entries: 0, files: 0, bytes: 0 };
}

function factsOf(found: Scanned): FileFacts | null {
  switch (found.kind) {
    case "file":
      return { path: found.path, size: found.size, modified: found.modified };
    case "directory":
      return { path: found.path, size: 0, modified: 0, kind: "directory" };
    case "left-out":
      return null;
  }
}

/** What the engine says of an entry that is as it was. */
const SAME = 0;
/** Files up to here are read whole. */
const WHOLE = 4 << 20;
/** Entries compared at once. */
const BATCH = 512;
/** Entries and bytes that are ahead of the session. */
const ENTRIES_AHEAD = 512;
const BYTES_AHEAD = 32 << 20;
/** What is ahead of a large file: two windows, and what was behind the last cut of the one before. */
const STREAM = 10 << 20;
/** What an entry costs beside its bytes. */
const ITEM = 512;
/** What one message to a worker has at most. */
const GROUP_BYTES = 2 << 20;
const GROUP_FILES = 64;
