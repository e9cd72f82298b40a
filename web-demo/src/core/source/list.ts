//! List: files that were chosen one by one, as a directory input gives them. The list is the page's; the coordinator gets
//! paths, sizes and times in columns, and asks for a file when it is read: a hundred thousand files take hundreds of
//! megabytes, their names a few.

/** A file with its path below what was chosen; the first component is the chosen folder's own name. */
export interface Listed {
  path: string;
  file: File;
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
    return { path: file.webkitRelativePath || file.name, file };
  };
  return { length: files.length, at };
}

/** Files of an array; one that was chosen twice is there once. */
export function filesOf(listed: Listed[]): Files {
  const known = new Map<File, string>();
  const once = listed.filter(({ path, file }) => known.get(file) !== path && known.set(file, path));
  return { length: once.length, at: (number) => once[number]! };
}

/** Asks the browser for sizes and times, as they are now; the page stays awake meanwhile. */
export async function columnsOf(files: Files): Promise<Columns> {
  const paths: string[] = [];
  const [ends, sizes, times] = [new Uint32Array(files.length), new Float64Array(files.length), new Float64Array(files.length)];
  for (let number = 0, end = 0; number < files.length; number++) {
    const { path, file } = files.at(number);
    paths.push(path);
    ends[number] = end += path.length;
    sizes[number] = file.size;
    times[number] = file.lastModified;
    if (number % AT_ONCE === AT_ONCE - 1) await new Promise((resolve) => setTimeout(resolve));
  }
  return { text: paths.join(""), ends, sizes, times };
}

/** Gives files of the page. */
export function giverOf(files: Files): Giver {
  const open = async (number: number) => files.at(number).file;
  const read = async (number: number) => {
    const { file } = files.at(number);
    return { bytes: new Uint8Array(await file.arrayBuffer()), modified: file.lastModified };
  };
  return { open, read };
}

/** Hands out files by their numbers until the port is closed. */
export function handOut(files: Files, port: MessagePort): void {
  const giver = giverOf(files);
  port.onmessage = async ({ data: { id, number, how } }: MessageEvent<Wish>) => {
    try {
      const given = await giver[how](number);
      port.postMessage({ id, given } satisfies Given, given instanceof File ? [] : [given.bytes.buffer]);
    } catch (error) {
      port.postMessage({ id, reason: error instanceof Error ? error.name : "unknown" } satisfies Given);
    }
  };
}

/** Asks the other end of a port for files. */
export function asking(port: MessagePort): Giver {
  const asked = new Map<number, { resolve: (given: never) => void; reject: (error: Error) => void }>();
  let next = 0;
  port.onmessage = ({ data }: MessageEvent<Given>) => {
    const { resolve, reject } = asked.get(data.id)!;
    asked.delete(data.id);
    if ("given" in data) resolve(data.given as never);
    else reject(new DOMException("reading failed", data.reason));
  };
  const ask = <T>(number: number, how: Wish["how"]) =>
    new Promise<T>((resolve, reject) => {
      const id = next++;
      asked.set(id, { resolve, reject });
      port.postMessage({ id, number, how } satisfies Wish);
    });
  return { open: (number) => ask(number, "open"), read: (number) => ask(number, "read") };
}

interface Wish {
  id: number;
  number: number;
  how: "open" | "read";
}

type Given = { id: number; given: File | Content } | { id: number; /** The browser's name for it. */ reason: string };

/** Files looked at between two breaths of the page. */
const AT_ONCE = 1_000;
