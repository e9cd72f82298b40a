//! Zip: a folder as one file, written as it comes: entries are stored as they are, sizes and checksums are filled in
//! behind each. Large files and many of them (zip64), names in UTF-8, times in UTC, and modes.

import { joined } from "./bytes";

/** Where a zip is written; what was written may be written over. */
export interface ZipTarget {
  write(bytes: Uint8Array<ArrayBuffer>, at: number): Promise<void>;
  truncate(length: number): Promise<void>;
}

/** What an entry is called and when it changed. */
export interface ZipEntry {
  /** `/` between names. */
  path: string;
  /** Milliseconds since 1970. */
  modified: number | null;
  /** Permission bits, or null where they are not known. */
  mode: number | null;
}

/** Writes one archive. Entries come one after another. */
export class ZipWriter {
  #at = 0;
  #entries: Written[] = [];
  #open: { entry: Written; crc: Crc32; start: number } | null = null;

  constructor(private readonly target: ZipTarget) {}

  /** A directory, also an empty one. */
  async directory(entry: ZipEntry): Promise<void> {
    await this.begin({ ...entry, path: `${entry.path}/` }, 0, S_IFDIR);
    await this.end();
  }

  /** A symbolic link. */
  async link(entry: ZipEntry, target: string): Promise<void> {
    const bytes = new TextEncoder().encode(target);
    await this.begin(entry, bytes.length, S_IFLNK);
    await this.data(bytes);
    await this.end();
  }

  /** Begins a file of this size. */
  async begin(entry: ZipEntry, size: number, type = S_IFREG): Promise<void> {
    const mode = type | (entry.mode ?? (type === S_IFREG ? 0o644 : 0o755));
    const name = new TextEncoder().encode(entry.path);
    if (name.length > 0xffff) throw new RangeError("the name is too long for a zip");
    const written: Written = { name, modified: entry.modified, mode, size, crc: 0, offset: this.#at };
    const head = localHeader(written);
    await this.target.write(head, this.#at);
    this.#at += head.length;
    this.#open = { entry: written, crc: new Crc32(), start: this.#at };
  }

  /** The next bytes of the file. */
  async data(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const open = this.#open!;
    open.crc.add(bytes);
    await this.target.write(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Ends the file, which must have had all its bytes. */
  async end(): Promise<void> {
    const { entry, crc, start } = this.#open!;
    if (this.#at - start !== entry.size) throw new RangeError("a file of a zip has another size than was said");
    this.#open = null;
    entry.crc = crc.value;
    if (entry.size > 0) await this.target.write(localHeader(entry), entry.offset);
    this.#entries.push(entry);
  }

  /** Takes the file that was begun back, as if it had never been. */
  async abort(): Promise<void> {
    const { entry } = this.#open!;
    this.#open = null;
    this.#at = entry.offset;
    await this.target.truncate(this.#at);
  }

  /** Ends the archive; gives its length. */
  async finish(): Promise<number> {
    const start = this.#at;
    for (let from = 0; from < this.#entries.length; from += BATCH) {
      const heads = joined(this.#entries.slice(from, from + BATCH).map(centralHeader));
      await this.target.write(heads, this.#at);
      this.#at += heads.length;
    }
    const end = endRecords(this.#entries.length, start, this.#at - start);
    await this.target.write(end, this.#at);
    this.#at += end.length;
    await this.target.truncate(this.#at);
    return this.#at;
  }
}

interface Written {
  name: Uint8Array;
  modified: number | null;
  mode: number;
  size: number;
  crc: number;
  offset: number;
}

function localHeader(entry: Written): Uint8Array<ArrayBuffer> {
  const isLarge = entry.size >= LARGE;
  const extra = joined([isLarge ? fields([2, 0x0001], [2, 16], [8, entry.size], [8, entry.size]) : EMPTY, timeExtra(entry)]);
  const [time, date] = dosTime(entry.modified);
  const size = isLarge ? LARGE : entry.size;
  const fixed = fields(
    [4, 0x04034b50], [2, isLarge ? 45 : 20], [2, UTF8], [2, STORED], [2, time], [2, date], [4, entry.crc], [4, size], [4, size],
    [2, entry.name.length], [2, extra.length],
  );
  return joined([fixed, entry.name, extra]);
}

function centralHeader(entry: Written): Uint8Array<ArrayBuffer> {
  const isLarge = entry.size >= LARGE;
  const isFar = entry.offset >= LARGE;
  const large: [number, number][] = [];
  if (isLarge) large.push([8, entry.size], [8, entry.size]);
  if (isFar) large.push([8, entry.offset]);
  const extra = joined([large.length > 0 ? joined([fields([2, 0x0001], [2, 8 * large.length]), fields(...large)]) : EMPTY, timeExtra(entry)]);
  const [time, date] = dosTime(entry.modified);
  const size = isLarge ? LARGE : entry.size;
  const isDirectory = (entry.mode & S_IFMT) === S_IFDIR;
  const fixed = fields(
    [4, 0x02014b50], [1, 45], [1, MADE_BY_UNIX], [2, isLarge || isFar ? 45 : 20], [2, UTF8], [2, STORED], [2, time], [2, date],
    [4, entry.crc], [4, size], [4, size], [2, entry.name.length], [2, extra.length], [2, 0], [2, 0], [2, 0],
    [4, entry.mode * 0x10000 + (isDirectory ? 0x10 : 0)], [4, isFar ? LARGE : entry.offset],
  );
  return joined([fixed, entry.name, extra]);
}

function endRecords(count: number, start: number, length: number): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  if (count >= 0xffff || start >= LARGE || length >= LARGE) {
    parts.push(
      fields([4, 0x06064b50], [8, 44], [1, 45], [1, MADE_BY_UNIX], [2, 45], [4, 0], [4, 0], [8, count], [8, count], [8, length], [8, start]),
      fields([4, 0x07064b50], [4, 0], [8, start + length], [4, 1]),
    );
  }
  const few = Math.min(count, 0xffff);
  parts.push(fields([4, 0x06054b50], [2, 0], [2, 0], [2, few], [2, few], [4, Math.min(length, LARGE)], [4, Math.min(start, LARGE)], [2, 0]));
  return joined(parts);
}

/** The time in UTC: seconds since 1970, or for a time that 32 bits cannot hold the NTFS field, which counts 100 ns since 1601. */
function timeExtra({ modified }: Written): Uint8Array<ArrayBuffer> {
  if (modified === null) return EMPTY;
  const seconds = Math.floor(modified / 1000);
  if (seconds >= -0x80000000 && seconds <= 0x7fffffff) return fields([2, 0x5455], [2, 5], [1, 1], [4, seconds >>> 0]);
  const ticks = Math.round((modified + SINCE_1601) * 10_000);
  if (ticks < 0) return EMPTY;
  // Modified, read and made: only the first is known.
  return fields([2, 0x000a], [2, 32], [4, 0], [2, 1], [2, 24], [8, ticks], [8, ticks], [8, ticks]);
}

/** The old field: local time, from 1980 to 2107. A time outside becomes the nearest one that it holds. */
function dosTime(modified: number | null): [time: number, date: number] {
  const date = new Date(modified ?? 0);
  const year = date.getFullYear();
  if (modified === null || year < 1980) return [0, (1 << 5) | 1];
  if (year > 2107) return [(23 << 11) | (59 << 5) | 29, (127 << 9) | (12 << 5) | 31];
  return [
    (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1),
    ((year - 1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate(),
  ];
}

/** Little-endian numbers of these widths. */
function fields(...list: [width: number, value: number][]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(list.reduce((sum, [width]) => sum + width, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [width, value] of list) {
    if (width === 1) view.setUint8(at, value);
    else if (width === 2) view.setUint16(at, value, true);
    else if (width === 4) view.setUint32(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
    at += width;
  }
  return bytes;
}

/** The checksum of zips, eight bytes at a time. */
export class Crc32 {
  #state = 0xffffffff;

  add(bytes: Uint8Array): void {
    const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES as [T, T, T, T, T, T, T, T];
    let crc = this.#state;
    let at = 0;
    const whole = bytes.length - (bytes.length % 8);
    for (; at < whole; at += 8) {
      const low = crc ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
      crc =
        t7[low & 255]! ^ t6[(low >>> 8) & 255]! ^ t5[(low >>> 16) & 255]! ^ t4[low >>> 24]! ^
        t3[bytes[at + 4]!]! ^ t2[bytes[at + 5]!]! ^ t1[bytes[at + 6]!]! ^ t0[bytes[at + 7]!]!;
    }
    for (; at < bytes.length; at++) crc = t0[(crc ^ bytes[at]!) & 255]! ^ (crc >>> 8);
    this.#state = crc;
  }

  get value(): number {
    return (this.#state ^ 0xffffffff) >>> 0;
  }
}

type T = Int32Array;
const TABLES = tables();

function tables(): T[] {
  const all = Array.from({ length: 8 }, () => new Int32Array(256));
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
    all[0]![byte] = crc;
  }
  for (let byte = 0; byte < 256; byte++) {
    for (let table = 1; table < 8; table++) {
      const before = all[table - 1]![byte]!;
      all[table]![byte] = all[0]![before & 255]! ^ (before >>> 8);
    }
  }
  return all;
}

const EMPTY = new Uint8Array(0);
const LARGE = 0xffffffff;
const UTF8 = 1 << 11;
const STORED = 0;
const MADE_BY_UNIX = 3;
const S_IFMT = 0o170000;
const S_IFREG = 0o100000;
const S_IFDIR = 0o040000;
const S_IFLNK = 0o120000;
/** Milliseconds from 1601 to 1970. */
const SINCE_1601 = 11_644_473_600_000;
/** Headers written at once. */
const BATCH = 1_000;
