//! Tree: what a person chose, as entries in the order of the tree, whichever way it was chosen.

import type { Excludes } from "./excludes";
import { ChosenList, type Columns, type Content, asking } from "./list";
import { compareNames, comparePaths, isGoodName } from "./order";

/** One entry on its way into a backup, or a reason why it is none. */
export type Scanned =
  | { kind: "directory"; path: string }
  /** `read`: all of it at once, where that takes less than a file that is opened. */
  | { kind: "file"; path: string; size: number; modified: number; open: () => Promise<File>; read?: () => Promise<Content> }
  | { kind: "left-out"; path: string; why: "excluded" | "unreadable" | "bad-name"; detail: string | null };

/** What a folder is, in a form that can be sent to a worker. */
export type Origin =
  | { via: "handle"; name: string; handle: FileSystemDirectoryHandle }
  /** `tops`: the chosen folders, none of files that were chosen one by one; `port`: who hands out the files; `unreadable`: what it has no files of. */
  | { via: "list"; name: string; tops: string[]; columns: Columns; port: MessagePort; unreadable: Unreadable[] };

/** What the browser has named and not handed out. */
export interface Unreadable {
  path: string;
  /** The browser's name for why. */
  reason: string;
}

/** Goes through what was chosen, in the order of the tree. */
export function scan(origin: Origin, excludes: Excludes): AsyncGenerator<Scanned> {
  if (origin.via === "handle") return scanHandle(origin.name, origin.handle, excludes);
  return scanList(new ChosenList(origin.columns, asking(origin.port)), excludes, origin.unreadable);
}

/** Goes through a list of files; directories are those that the paths name. Of several files at one path, as two places may
 * have given them, the first is taken and the others are named. */
export async function* scanList(list: ChosenList, excludes: Excludes, unreadable: Unreadable[] = []): AsyncGenerator<Scanned> {
  for (const { path, reason } of unreadable) {
    if (!isOutside(path, excludes)) yield { kind: "left-out", path, why: "unreadable", detail: reason };
  }
  const paths = Array.from({ length: list.length }, (_, number) => list.path(number));
  const sorted = Uint32Array.from(paths.keys()).sort((a, b) => comparePaths(paths[a]!, paths[b]!) || a - b);
  let open: string[] = [];
  let lastFile: string | null = null;
  let outside: string | null = null;
  for (const number of sorted) {
    const path = paths[number]!;
    if (outside !== null && path.startsWith(outside)) continue;
    if (path === lastFile) {
      yield { kind: "left-out", path, why: "bad-name", detail: TWICE };
      continue;
    }
    const names = path.split("/");
    const bad = names.findIndex((name) => !isGoodName(name));
    if (bad >= 0) {
      yield { kind: "left-out", path, why: "bad-name", detail: null };
      continue;
    }
    // From two places a file and a directory of one name may have come.
    const parents = names.slice(0, -1);
    if (lastFile !== null && path.startsWith(`${lastFile}/`)) {
      yield { kind: "left-out", path, why: "bad-name", detail: null };
      continue;
    }
    let shared = 0;
    while (shared < parents.length && parents[shared] === open[shared]) shared++;
    outside = null;
    for (let depth = shared; depth < parents.length && outside === null; depth++) {
      const directory = parents.slice(0, depth + 1).join("/");
      if (excludes(below(directory), true)) {
        outside = `${directory}/`;
        yield { kind: "left-out", path: directory, why: "excluded", detail: null };
      } else {
        open = parents.slice(0, depth + 1);
        yield { kind: "directory", path: directory };
      }
    }
    if (outside !== null) continue;
    open = parents;
    if (excludes(below(path), false)) {
      yield { kind: "left-out", path, why: "excluded", detail: null };
    } else {
      lastFile = path;
      yield { kind: "file", path, size: list.size(number), modified: list.modified(number), open: () => list.giver.open(number), read: () => list.giver.read(number) };
    }
  }
}

/** Goes through a directory that the browser lets us list, also its empty folders. */
export async function* scanHandle(name: string, handle: FileSystemDirectoryHandle, excludes: Excludes): AsyncGenerator<Scanned> {
  yield* ahead(walk(name, handle, excludes), AHEAD, look);
}

/** Counts the files of a directory by their names alone, which takes a small part of the time of looking at each; null if it is
 * over before that. What cannot be listed counts as nothing. */
export async function countFiles(handle: FileSystemDirectoryHandle, excludes: Excludes, isOver: () => boolean, path = ""): Promise<number | null> {
  let files = 0;
  try {
    for await (const [name, child] of handle.entries()) {
      if (isOver()) return null;
      const childPath = path === "" ? name : `${path}/${name}`;
      if (!isGoodName(name) || excludes(childPath, child.kind === "directory")) continue;
      const more = child.kind === "directory" ? await countFiles(child as FileSystemDirectoryHandle, excludes, isOver, childPath) : 1;
      if (more === null) return null;
      files += more;
    }
  } catch {
    // The scan names what it could not list.
  }
  return files;
}

/** What the walk has found and nobody has looked at yet. */
type Pending = Exclude<Scanned, { kind: "file" }> | { kind: "pending"; path: string; handle: FileSystemFileHandle };

async function* walk(path: string, handle: FileSystemDirectoryHandle, excludes: Excludes): AsyncGenerator<Pending> {
  yield { kind: "directory", path };
  const children: [string, FileSystemHandle][] = [];
  try {
    for await (const child of handle.entries()) children.push(child);
  } catch (error) {
    // What was listed so far is not the whole: none of it is taken for the folder's content.
    yield { kind: "left-out", path, why: "unreadable", detail: reason(error) };
    return;
  }
  children.sort(([a], [b]) => compareNames(a, b));
  for (const [name, child] of children) {
    const childPath = `${path}/${name}`;
    if (name === "") {
      yield { kind: "left-out", path: childPath, why: "unreadable", detail: NOT_TEXT };
    } else if (!isGoodName(name)) {
      yield { kind: "left-out", path: childPath, why: "bad-name", detail: null };
    } else if (excludes(below(childPath), child.kind === "directory")) {
      yield { kind: "left-out", path: childPath, why: "excluded", detail: null };
    } else if (child.kind === "directory") {
      yield* walk(childPath, child as FileSystemDirectoryHandle, excludes);
    } else {
      yield { kind: "pending", path: childPath, handle: child as FileSystemFileHandle };
    }
  }
}

/** Size and time of a file; its content is opened anew when it is read, so that it is that of then. */
async function look(pending: Pending): Promise<Scanned> {
  if (pending.kind !== "pending") return pending;
  const { path, handle } = pending;
  try {
    const file = await handle.getFile();
    return { kind: "file", path, size: file.size, modified: file.lastModified, open: () => handle.getFile() };
  } catch (error) {
    return { kind: "left-out", path, why: "unreadable", detail: reason(error) };
  }
}

/** Runs `work` on up to `most` items at once and gives the results in the items' order. */
export async function* ahead<In, Out>(items: AsyncIterable<In>, most: number, work: (item: In) => Promise<Out>): AsyncGenerator<Out> {
  const running: Promise<Out>[] = [];
  try {
    for await (const item of items) {
      const begun = work(item);
      // A failure is thrown in its turn, below, not before.
      begun.catch(() => {});
      running.push(begun);
      if (running.length >= most) yield await running.shift()!;
    }
    while (running.length > 0) yield await running.shift()!;
  } finally {
    await Promise.allSettled(running);
  }
}

/** The path below the chosen folder, which excludes are about. */
function below(path: string): string {
  const slash = path.indexOf("/");
  return slash < 0 ? "" : path.slice(slash + 1);
}

/** Whether excludes leave out a path that may be a file or a directory, or one above it. */
function isOutside(path: string, excludes: Excludes): boolean {
  const names = path.split("/");
  return names.some((_, at) => at > 0 && excludes(names.slice(1, at + 1).join("/"), at < names.length - 1));
}

/** Why the browser could not: its name for it, which holds no path. */
function reason(error: unknown): string {
  return error instanceof Error ? error.name : "unknown";
}

/** The reason for a file or folder whose name is not UTF-8: Chromium gives it an empty name, and no content. */
export const NOT_TEXT = "NameIsNotText";
/** What is wrong with a name that another file has. */
const TWICE = "another file of this name was chosen too";
/** Files looked at ahead. */
const AHEAD = 64;
