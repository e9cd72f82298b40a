//! Targets: where restored files go: one file, a zip, or a directory that a person has picked. What is not whole is never
//! left there.

import type { OntoExisting, RestoreResult } from "../api";
import type { EntryFacts } from "../engine";
import { isGoodName } from "../source/order";
import { ZipWriter } from "../zip";
import { Gathered } from "./gathered";
import { below } from "./paths";
import type { Place } from "./place";

/** Takes entries in tree order; of files the bytes in order, all of them verified. */
export interface Target {
  /** What is not written, and why; null if it was or will be. */
  begin(entry: EntryFacts): Promise<RestoreResult["skipped"][number]["why"] | null>;
  data(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  end(): Promise<void>;
  /** The file that was begun is not whole: nothing of it stays. */
  abort(): Promise<void>;
  /** Everything is there. */
  finish(): Promise<void>;
  /** Nothing is to stay of what is not finished. */
  drop(): Promise<void>;
}

/** One file as itself. */
export class SingleTarget implements Target {
  #at = 0;
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = new Gathered(place);
  }

  async begin(entry: EntryFacts): Promise<"special" | null> {
    return entry.kind === "file" ? null : "special";
  }

  async data(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#place.write(bytes, this.#at);
    this.#at += bytes.length;
  }

  async end(): Promise<void> {}

  async abort(): Promise<void> {
    this.#at = 0;
    await this.#place.truncate(0);
  }

  async finish(): Promise<void> {
    await this.#place.truncate(this.#at);
    await this.#place.close();
  }

  async drop(): Promise<void> {
    await this.#place.drop();
  }
}

/** Everything in one zip; paths below the parents that all have in common. */
export class ZipTarget implements Target {
  readonly #zip: ZipWriter;
  /** What is no directory: nothing of the archive lies below it. */
  #leaf: string | null = null;
  /** Paths in which bytes are not text: two of them may look the same. */
  #unclear = new Set<string>();

  readonly #place: Place;

  constructor(
    place: Place,
    private readonly base: string,
    private readonly hasModes: boolean,
  ) {
    this.#place = new Gathered(place);
    this.#zip = new ZipWriter(this.#place);
  }

  async begin(entry: EntryFacts): Promise<"special" | "bad-name" | null> {
    const path = below(this.base, entry.path);
    if (path === "") return null;
    if (entry.kind === "other") return "special";
    if (!isGoodInZip(path) || (this.#leaf !== null && path.startsWith(`${this.#leaf}/`))) return "bad-name";
    if (entry.kind !== "directory") {
      if (this.#unclear.has(path)) return "bad-name";
      if (path.includes("\ufffd")) this.#unclear.add(path);
      this.#leaf = path;
    }
    // Bytes of the target are not text: a link made of it would lead elsewhere.
    if (entry.kind === "symlink" && entry.target?.includes("\ufffd")) return "bad-name";
    const head = { path, modified: entry.modified === 0 ? null : entry.modified, mode: this.hasModes ? entry.mode : null };
    if (entry.kind === "directory") await this.#zip.directory(head);
    else if (entry.kind === "symlink") await this.#zip.link(head, entry.target ?? "");
    else await this.#zip.begin(head, entry.size);
    return null;
  }

  data(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#zip.data(bytes);
  }

  end(): Promise<void> {
    return this.#zip.end();
  }

  abort(): Promise<void> {
    return this.#zip.abort();
  }

  async finish(): Promise<void> {
    await this.#zip.finish();
    await this.#place.close();
  }

  drop(): Promise<void> {
    return this.#place.drop();
  }
}

/** What becomes of a file whose name something has that is there. */
export type Existing = Exclude<OntoExisting, "subfolder">;

/** A directory that a person has picked. What is there is written over only if the person said so, and never before the new
 * file is whole; folders are never replaced. */
export class DirectoryTarget implements Target {
  #folders = new Map<string, FileSystemDirectoryHandle>();
  #open: FileSystemWritableFileStream | null = null;
  /** What was written and could be replaced, as a file system sees it that ignores case: what looks alike does not replace it. */
  #written = new Set<string>();

  constructor(
    root: FileSystemDirectoryHandle,
    private readonly base: string,
    private readonly existing: Existing = "leave",
  ) {
    this.#folders.set("", root);
  }

  async begin(entry: EntryFacts): Promise<"exists" | "link" | "special" | "bad-name" | null> {
    const path = below(this.base, entry.path);
    if (path === "") return null;
    if (!path.split("/").every(isGoodName)) return "bad-name";
    if (entry.kind === "symlink") return "link";
    if (entry.kind === "other") return "special";
    try {
      if (entry.kind === "directory") {
        await this.#folder(path);
        return null;
      }
      const slash = path.lastIndexOf("/");
      const folder = await this.#folder(slash < 0 ? "" : path.slice(0, slash));
      const name = await this.#name(folder, path.slice(slash + 1), path, entry.size);
      if (name === null) return "exists";
      const isNew = !(await isThere(folder, name));
      const handle = await folder.getFileHandle(name, { create: true });
      const before = path.slice(slash + 1);
      this.#copy = name === before ? null : { folder, name, before };
      this.#undo = async () => (isNew ? folder.removeEntry(name).catch(() => {}) : undefined);
      try {
        this.#open = await handle.createWritable();
      } catch (error) {
        await this.#undo();
        throw error;
      }
      if (this.existing === "replace" || entry.size === 0) this.#written.add(folded(path));
      return null;
    } catch (error) {
      if (error instanceof TypeError) return "bad-name";
      if (error instanceof DOMException && error.name === "TypeMismatchError") return "exists";
      throw error;
    }
  }

  /** The name under which a file is written; null if it is not. */
  async #name(folder: FileSystemDirectoryHandle, name: string, path: string, size: number): Promise<string | null> {
    if (!(await isThere(folder, name))) return name;
    const mayReplace = !this.#written.has(folded(path));
    if (this.existing === "replace") return mayReplace ? name : null;
    // A tab that is closed while it writes leaves an empty file.
    if (mayReplace && size > 0 && (await isEmpty(folder, name))) return name;
    if (this.existing === "leave") return null;
    for (let copy = 1; copy <= COPIES; copy++) {
      const other = anotherName(name, copy);
      if (!(await isThere(folder, other))) return other;
    }
    return null;
  }

  #undo: () => Promise<void> = async () => {};
  #copy: Copy | null = null;

  async data(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#open!.write(bytes);
  }

  async end(): Promise<void> {
    // What was written is in place from here on.
    await this.#open!.close();
    this.#open = null;
    // Two files that are the same need no second name.
    if (this.#copy) await this.#withoutTwin(this.#copy);
  }

  async #withoutTwin({ folder, name, before }: Copy): Promise<void> {
    if ((await kindOf(folder, before)) !== "file") return;
    const [made, there] = await Promise.all([name, before].map(async (one) => (await folder.getFileHandle(one)).getFile()));
    if (await isSame(made!, there!)) await folder.removeEntry(name);
  }

  async abort(): Promise<void> {
    await this.#open?.abort();
    this.#open = null;
    // Only the empty file that was made for it is there, or what was there before.
    await this.#undo();
  }

  async finish(): Promise<void> {}

  async drop(): Promise<void> {
    if (this.#open) await this.abort();
  }

  async #folder(path: string): Promise<FileSystemDirectoryHandle> {
    const known = this.#folders.get(path);
    if (known) return known;
    const slash = path.lastIndexOf("/");
    const parent = await this.#folder(slash < 0 ? "" : path.slice(0, slash));
    const made = await parent.getDirectoryHandle(path.slice(slash + 1), { create: true });
    this.#folders.set(path, made);
    return made;
  }
}

/** Whether a folder has something of a name; throws TypeError for what is no name. */
export async function isThere(folder: FileSystemDirectoryHandle, name: string): Promise<boolean> {
  return (await kindOf(folder, name)) !== null;
}

/** Whether a name in a folder is that of an empty file. */
async function isEmpty(folder: FileSystemDirectoryHandle, name: string): Promise<boolean> {
  return (await kindOf(folder, name)) === "file" && (await (await folder.getFileHandle(name)).getFile()).size === 0;
}

/** What has a name in a folder. */
async function kindOf(folder: FileSystemDirectoryHandle, name: string): Promise<"file" | "directory" | null> {
  try {
    await folder.getFileHandle(name);
    return "file";
  } catch (error) {
    if (error instanceof DOMException && error.name === "NotFoundError") return null;
    if (error instanceof DOMException && error.name === "TypeMismatchError") return "directory";
    throw error;
  }
}

/** A file that was written beside the one that has its name. */
interface Copy {
  folder: FileSystemDirectoryHandle;
  name: string;
  before: string;
}

/** Whether two files hold the same bytes. */
async function isSame(one: File, other: File): Promise<boolean> {
  if (one.size !== other.size) return false;
  for (let at = 0; at < one.size; at += COMPARED) {
    const [first, second] = await Promise.all([one, other].map(async (file) => new Uint8Array(await file.slice(at, at + COMPARED).arrayBuffer())));
    if (first!.length !== second!.length || first!.some((byte, i) => byte !== second![i])) return false;
  }
  return true;
}

/** A name beside one that is taken: "report (restored).pdf", "report (restored 2).pdf". */
export function anotherName(name: string, copy: number): string {
  const dot = name.lastIndexOf(".");
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
  return `${stem} (restored${copy === 1 ? "" : ` ${copy}`})${ending}`;
}

/** A path as a file system sees it that ignores case and spellings of accents; some see less alike than this. */
function folded(path: string): string {
  return path.normalize("NFKC").toUpperCase().toLowerCase();
}

/** Whether a path stays below the folder that an archive is unpacked into, also where `\` parts names and letters name
 * drives. */
export function isGoodInZip(path: string): boolean {
  const names = path.split("/");
  if (!names.every(isGoodName) || new TextEncoder().encode(path).length >= ZIP_NAME) return false;
  return !/^(\\|[A-Za-z]:)/.test(path) && !path.split(/[/\\]/).includes("..");
}

/** Names that are tried for a file whose own is taken. */
const COPIES = 1_000;
/** Bytes of two files that are compared at once. */
const COMPARED = 1 << 20;
/** Bytes of a name that a zip can hold. */
const ZIP_NAME = 0xffff;
