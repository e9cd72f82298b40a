//! Names: what an entry is called, and which entries are searched for by their names.

import type { Entry } from "../api";

/** The path of the entry with this id, as it is shown. */
export function pathIn(id: string): string {
  if (!id.startsWith("\0")) return id;
  // Not text: the bytes are in hexadecimal.
  const bytes = Uint8Array.from(id.slice(1).match(/../g) ?? [], (pair) => parseInt(pair, 16));
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** The name of the entry with this id: its last part, as it is shown. */
export function nameIn(id: string): string {
  const path = pathIn(id);
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The id of the folder that an entry lies in; "" is the top. */
export function parentOf(id: string): string {
  if (!id.startsWith("\0")) return id.slice(0, Math.max(0, id.lastIndexOf("/")));
  const bytes: string[] = id.slice(1).match(/../g) ?? [];
  const parent = bytes.slice(0, Math.max(0, bytes.lastIndexOf("2f")));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(parent, (pair) => parseInt(pair, 16)));
  } catch {
    return `\0${parent.join("")}`;
  }
}

/** Tells the names that are meant by a part of a name, or by a pattern with `*` and `?` for the whole name. Capital letters do not
 * count. */
export function namedLike(text: string): (name: string) => boolean {
  const wanted = folded(text.trim());
  return /[*?]/.test(wanted) ? (name) => isLike(folded(name), wanted) : (name) => folded(name).includes(wanted);
}

/** What st_mode says of an entry. */
export function entryKind(mode: number): Entry["kind"] {
  const kind = mode & 0o170000;
  return kind === 0o100000 ? "file" : kind === 0o040000 ? "directory" : kind === 0o120000 ? "symlink" : "other";
}

function folded(name: string): string {
  const small = name.toLowerCase();
  // Some systems write an accent as a character of its own.
  return ASCII.test(small) ? small : small.normalize("NFC");
}

/** Whether a name is like a pattern. Goes back to the last `*` only, so that no pattern takes long. */
function isLike(name: string, pattern: string): boolean {
  let [at, to, star, from] = [0, 0, -1, 0];
  while (at < name.length) {
    if (pattern[to] === "*") [star, from, to] = [to, at, to + 1];
    else if (pattern[to] === "?" || (to < pattern.length && pattern[to] === name[at])) [at, to] = [at + 1, to + 1];
    else if (star >= 0) [from, at, to] = [from + 1, from + 1, star + 1];
    else return false;
  }
  while (pattern[to] === "*") to += 1;
  return to === pattern.length;
}

const ASCII = /^[\0-\x7f]*$/;
