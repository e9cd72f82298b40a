//! Paths: what of a path a download is called by.

import type { EntryId } from "../api";
import { pathIn } from "./names";

/** A name as browsers and file systems take it: what parts or hides names is replaced. */
export function asFileName(name: string): string {
  const plain = name.replace(/[/\\:*?"<>|\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "_");
  return /^\.*$/.test(plain) ? "_" : plain;
}

/** A path below a directory. */
export function below(base: string, path: string): string {
  return base === "" ? path : path === base ? "" : path.slice(base.length + 1);
}

/** The directory that all of some entries lie in. Told by their ids: a folder may have no entry of its own. */
export function baseOf(ids: EntryId[]): string {
  return ids.includes("") ? "" : commonParent(ids.map(pathIn));
}

/** The directory that all of some paths lie in. */
export function commonParent(paths: string[]): string {
  const parents = paths.map((path) => path.split("/").slice(0, -1));
  const first = parents[0] ?? [];
  let shared = first.length;
  for (const parent of parents) {
    let same = 0;
    while (same < shared && parent[same] === first[same]) same++;
    shared = same;
  }
  return first.slice(0, shared).join("/");
}
