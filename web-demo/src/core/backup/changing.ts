//! Changing: files that somebody writes to while they are read. A browser reads nothing more of a file that is not as it was
//! when it was opened. So such a file is opened anew, and read at once; a large one anew for each of its windows. What was read
//! last is kept, and said to be of a file that was changing.

import type { Content } from "../source/list";
import type { Labour } from "../work/pool";
import { type Begun, type Opened, readAll } from "./reading";

/** What of a file has to stay as it is while it is read. */
interface State {
  size: number;
  modified: number;
}

type Open = () => Promise<File>;

/** A small file as it was read, if it was left alone meanwhile. Else it is read anew, and once more; the last reading counts. */
export async function settled(first: Opened, open: Open, labour: Labour): Promise<{ found: Opened; isChanging: boolean }> {
  let found = first;
  for (let left = READINGS; ; left--) {
    const isRead = found.read.kind !== "failed";
    // If it had been left alone for long when its reading began, the browser would have noticed a write since: it compares the times.
    if (isRead && (found.modified < found.at - RECENT || (await isAsRead(open, found)))) return { found, isChanging: false };
    if (left <= 1) return { found, isChanging: isRead };
    const [next] = await readAll([() => whole(open)], labour);
    if (next!.read.kind !== "failed" || !isRead) found = next!;
  }
}

/** Whether a file is still what was read. If it has gone meanwhile, nothing else can be read. */
export async function isAsRead(open: Open, { size, modified }: State): Promise<boolean> {
  const now = await open().catch(() => null);
  return now === null || (now.size === size && now.lastModified === modified);
}

/** Begins to read a large file that does not stay as it is. It ends where it ended when it was opened, or before that if it has
 * become shorter. */
export async function beginChanging(open: Open, labour: Labour): Promise<Begun> {
  const { size, lastModified: modified } = await open();
  return { size, modified, windows: labour.stream({ size, read: (start, end) => inParts(open, start, end) }) };
}

/** Reads a part of a file that is written to all the time: what takes too long to be read at once comes in halves. */
async function inParts(open: Open, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  let [at, asked] = [0, 2 * bytes.length];
  while (at < bytes.length) {
    const part = await atOnce(open, (file) => {
      asked = Math.min(Math.max(Math.ceil(asked / 2), SMALL), bytes.length - at);
      return file.slice(start + at, start + at + asked).arrayBuffer();
    });
    bytes.set(new Uint8Array(part), at);
    at += part.byteLength;
    // It has become shorter.
    if (part.byteLength < asked) return bytes.subarray(0, at);
    asked *= 2;
  }
  return bytes;
}

function whole(open: Open): Promise<Content> {
  return atOnce(open, async (file) => ({ modified: file.lastModified, bytes: new Uint8Array(await file.slice(0, GROWN).arrayBuffer()) }));
}

/** Does something with a file before anybody has written to it again. Tries at least `TRIES` times, and for at least
 * `PATIENCE`. */
async function atOnce<T>(open: Open, work: (file: File) => Promise<T>): Promise<T> {
  const until = performance.now() + PATIENCE;
  let file = await open();
  for (let left = TRIES; ; left--) {
    try {
      return await work(file);
    } catch (error) {
      const failed = { size: file.size, modified: file.lastModified };
      file = await open();
      // A file that cannot be read for another reason is not tried again.
      const isOver = left <= 1 && performance.now() > until;
      if (isOver || (file.size === failed.size && file.lastModified === failed.modified)) throw error;
    }
  }
}

/** A file that changes while it is read is read so often. */
export const READINGS = 3;
/** Between opening and reading a log that is written every five milliseconds, one of thirteen tries fails on an idle machine,
 * and almost every one on a machine so busy that opening takes as long. */
const TRIES = 20;
/** Milliseconds. */
const PATIENCE = 5_000;
/** Milliseconds. Some browsers compare the times of files to the second only. */
const RECENT = 3_000;
/** Bytes that are not halved again. */
const SMALL = 64 << 10;
/** What is read of a small file that has become a large one. */
const GROWN = 16 << 20;
