//! List: what a share holds, as it is sealed before the link is made. Whoever has the link may have got it from anybody, so a reader
//! believes no number and no name.

/** What lies where in a share's bytes. */
export interface ShareList {
  /** What all of it is called. */
  name: string;
  /** Bytes of content, in all. */
  length: number;
  entries: ShareEntry[];
}

/** A file, or a folder, which has neither size nor offset. */
export interface ShareEntry {
  path: string;
  /** When it was changed: milliseconds since 1970; null if nobody knows. */
  time: number | null;
  size?: number;
  /** Where its bytes begin. */
  offset?: number;
}

export function writeList(list: ShareList): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify({ version: 1, ...list }));
}

/** Reads a list; null if it is none, or says what cannot be. */
export function readList(bytes: Uint8Array): ShareList | null {
  let said: unknown;
  try {
    said = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  if (!isRecord(said) || said["version"] !== 1 || typeof said["name"] !== "string" || !isCount(said["length"])) return null;
  const { name, length, entries } = said as unknown as ShareList;
  if (length > LENGTH_MOST || !Array.isArray(entries) || entries.length > ENTRIES_MOST) return null;
  return entries.every((entry) => isEntry(entry, length)) ? { name, length, entries } : null;
}

function isEntry(entry: unknown, length: number): entry is ShareEntry {
  if (!isRecord(entry) || typeof entry["path"] !== "string" || entry["path"] === "" || entry["path"].length > PATH_MOST) return false;
  const { time, size, offset } = entry;
  if (time !== null && !Number.isSafeInteger(time)) return false;
  if (size === undefined && offset === undefined) return true;
  return isCount(size) && isCount(offset) && size <= length && offset <= length - size;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Bytes of content, bytes of a list, and entries of a share at most. */
export const LENGTH_MOST = 4 * 2 ** 30;
export const LIST_MOST = 15 << 20;
export const ENTRIES_MOST = 50_000;
/** Letters of a path: browsers save nothing under a name of megabytes. */
const PATH_MOST = 1 << 15;
