//! List: files that were chosen one by one, as a directory input gives them. The list is the page's; the coordinator gets
//! paths, sizes and times in columns, and asks for a file when it is read: a hundred thousand files take hundreds of
//! megabytes, their names a few.

import { buffersOf } from "../buffers";
import { readTogether } from "./together";

/** A file with its path below what was chosen; the first component is the chosen folder's own name. */
export interface Listed {
  path: string;
  file: File;
  /** Gives the file as it is now, where the browser can; in Chromium `file` is as it was when it was chosen, and cannot be read any
   * more once it has changed. */
  entry?: FileSystemFileEntry;
}

/** Files as the page holds them. */
export interface Files {
  readonly length: number;
  at(number: number): Listed;
}

/** What a list tells of its files. */
export interface Columns {
  /** All paths, one behind the other, and where each ends. */
  text: string;
  ends: Uint32Array;
  sizes: Float64Array;
  /** Milliseconds. */
  times: Float64Array;
}

/** A small file with its bytes. */
export interface Content {
  bytes: Uint8Array<ArrayBuffer>;
  /** Milliseconds. */
  modified: number;
}

/** Gives files by their numbers. */
export interface Giver {
  open(number: number): Promise<File>;
  /** Its bytes instead: a file that is handed from one thread to another takes kilobytes until somebody cleans up. */
  read(number: number): Promise<Content>;
}

/** A list as the coordinator has it. */
export class ChosenList {
  constructor(
    private readonly columns: Columns,
    readonly giver: Giver,
  ) {}

  get length(): number {
    return this.columns.ends.length;
  }

  path(number: number): string {
    return this.columns.text.slice(this.columns.ends[number - 1] ?? 0, this.columns.ends[number]);
  }

  size(number: number): number {
    return this.columns.sizes[number]!;
  }

  modified(number: number): number {
    return this.columns.times[number]!;
  }
}

/** What an input holds; files that nobody looks at are not made. */
export function filesOfInput(files: FileList): Files {
  const at = (number: number) => {
    const file = files[number]!;
    return { path: pathOf(file), file };
  };
  return { length: files.length, at };
}

/** A path with the name as it is: Chromium writes `a/b` where a file is called `a\b`. */
function pathOf({ name, webkitRelativePath }: File): string {
  const asWritten = name.replaceAll("\\", "/");
  const isTurned = asWritten !== name && webkitRelativePath.endsWith(`/${asWritten}`);
  return isTurned ? webkitRelativePath.slice(0, -name.length) + name : webkitRelativePath || name;
}

/** Files of an array; one that was chosen twice is there once. */
export function filesOf(listed: Listed[]): Files {
  const known = new Map<File, string>();
  const once = listed.filter(({ path, file }) => known.get(file) !== path && known.set(file, path));
  return { length: once.length, at: (number) => once[number]! };
}

/** Asks the browser for sizes and times, as they are now where it can; the page stays awake meanwhile. */
export async function columnsOf(files: Files): Promise<Columns> {
  const paths: string[] = [];
  const [ends, sizes, times] = [new Uint32Array(files.length), new Float64Array(files.length), new Float64Array(files.length)];
  for (let end = 0; paths.length < files.length; ) {
    const listed = Array.from({ length: Math.min(AT_ONCE, files.length - paths.length) }, (_, at) => files.at(paths.length + at));
    const found = await Promise.all(listed.map(asItIs));
    for (const [at, { path }] of listed.entries()) {
      const number = paths.push(path) - 1;
      ends[number] = end += path.length;
      sizes[number] = found[at]!.size;
      times[number] = found[at]!.lastModified;
    }
    await new Promise((resolve) => setTimeout(resolve));
  }
  return { text: paths.join(""), ends, sizes, times };
}

/** Hands out files by their numbers until the port is closed. */
export function handOut(files: Files, port: MessagePort): void {
  port.onmessage = async ({ data }: MessageEvent<Wish[]>) => {
    const given = await give(files, data);
    port.postMessage(given, buffersOf(given.flatMap((one) => ("content" in one ? one.content.bytes : []))));
  };
}

/** What was wished for at once; what is to be read of it is read together, if that can be. */
async function give(files: Files, wishes: Wish[]): Promise<Given[]> {
  const found = await Promise.all(wishes.map(async ({ id, number, how }) => {
    const listed = files.at(number);
    const { entry } = listed;
    // Of a file that was empty Chromium reads nothing, and so does not see that it is not empty any more.
    const file = listed.file.size === 0 ? await asItIs(listed) : listed.file;
    // Not later than its bytes, also of those that are read together: a file that is written meanwhile is seen to be another
    // one the next time.
    return { id, how, file, entry, modified: file.lastModified };
  }));
  const read = found.filter(({ how }) => how === "read");
  const contents = read.length > 1 ? await readTogether(read.map(({ file }) => file)) : null;
  const together = new Map(contents?.map((bytes, at) => [read[at]!.id, bytes]));
  return Promise.all(
    found.map(async ({ id, how, file, entry, modified }) => {
      try {
        if (how === "open") return { id, file: entry ? await fileOf(entry) : file };
        return { id, content: { bytes: together.get(id) ?? new Uint8Array(await file.arrayBuffer()), modified } };
      } catch (error) {
        return { id, reason: error instanceof Error ? error.name : "unknown" };
      }
    }),
  );
}

/** A file as it is now, where the browser can give it. */
async function asItIs({ file, entry }: Listed): Promise<File> {
  return entry ? fileOf(entry).catch(() => file) : file;
}

/** The file of a dropped entry, as it is now. */
export function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/** Asks the other end of a port for files. What is asked for at once goes in one message, and comes back in one. */
export function asking(port: MessagePort): Giver {
  const asked = new Map<number, { resolve: (given: never) => void; reject: (error: Error) => void }>();
  let wishes: Wish[] = [];
  port.onmessage = ({ data }: MessageEvent<Given[]>) => {
    for (const given of data) {
      const waiting = asked.get(given.id);
      asked.delete(given.id);
      // An earlier attempt at the backup has asked the same port for it.
      if (!waiting) continue;
      if ("reason" in given) waiting.reject(new DOMException("reading failed", given.reason));
      else waiting.resolve(("file" in given ? given.file : given.content) as never);
    }
  };
  const send = () => {
    port.postMessage(wishes);
    wishes = [];
  };
  const ask = <T>(number: number, how: Wish["how"]) =>
    new Promise<T>((resolve, reject) => {
      const id = nextWish++;
      asked.set(id, { resolve, reject });
      if (wishes.length === 0) queueMicrotask(send);
      wishes.push({ id, number, how });
    });
  return { open: (number) => ask(number, "open"), read: (number) => ask(number, "read") };
}

interface Wish {
  id: number;
  number: number;
  how: "open" | "read";
}

type Given = { id: number; file: File } | { id: number; content: Content } | { id: number; /** The browser's name for it. */ reason: string };

/** Never the same one twice, whoever asks: an answer may come when nobody waits for it any more. */
let nextWish = 0;
/** Files asked for at once, between two breaths of the page. */
const AT_ONCE = 1_000;
