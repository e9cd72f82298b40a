//! Pictures: what the header of an image says: how large it becomes when it is decoded, and the small picture that a camera
//! has put into it. Headers are written by whoever could put a file into a backup: nothing here believes a length.

import { letters } from "./kinds";

export interface Size { width: number; height: number }

/** A picture of more is not decoded: 64 million pixels are 256 MB. */
const PIXELS = 64_000_000;

/** How large an image is, by its first bytes; null if they do not say. Of several sizes the largest counts. */
export function sizeOf(bytes: Uint8Array, mediaType: string): Size | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    switch (mediaType) {
      case "image/png": return letters(bytes, 12, 16) !== "IHDR" ? null : { width: view.getUint32(16), height: view.getUint32(20) };
      case "image/gif": return sizeOfGif(view);
      case "image/bmp": return view.getUint32(14, true) === 12
        ? { width: view.getUint16(18, true), height: view.getUint16(20, true) }
        : { width: Math.abs(view.getInt32(18, true)), height: Math.abs(view.getInt32(22, true)) };
      case "image/webp": return sizeOfWebp(view, letters(bytes, 12, 16));
      case "image/jpeg": return sizeOfJpeg(view);
      case "image/avif": return sizeOfAvif(bytes, view);
      default: return null;
    }
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Whether an image may be decoded. */
export function isModest(size: Size | null): size is Size {
  return size !== null && size.width * size.height <= PIXELS;
}

/** A frame that is larger than the screen enlarges it. */
function sizeOfGif(view: DataView): Size {
  const size = { width: view.getUint16(6, true), height: view.getUint16(8, true) };
  const flags = view.getUint8(10);
  let at = 13 + (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0);
  for (let blocks = 0; blocks < 100; blocks++) {
    const kind = view.getUint8(at);
    if (kind === 0x2c) {
      size.width = Math.max(size.width, view.getUint16(at + 1, true) + view.getUint16(at + 5, true));
      size.height = Math.max(size.height, view.getUint16(at + 3, true) + view.getUint16(at + 7, true));
      return size;
    }
    if (kind !== 0x21) return size;
    at += 2;
    for (let length = view.getUint8(at); length > 0; length = view.getUint8(at)) at += length + 1;
    at += 1;
  }
  return size;
}

function sizeOfWebp(view: DataView, chunk: string): Size | null {
  const three = (at: number) => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  if (chunk === "VP8X") return { width: three(24) + 1, height: three(27) + 1 };
  if (chunk === "VP8 ") return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  if (chunk !== "VP8L") return null;
  const bits = view.getUint32(21, true);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}

/** Segments of a JPEG file before its first scan: marker, start and end of what they hold. */
function* segments(view: DataView): Generator<{ marker: number; start: number; end: number }> {
  let at = 2;
  while (at + 4 <= view.byteLength) {
    if (view.getUint8(at) !== 0xff) return;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    // Behind a marker without a length, decoders look for the next one.
    if (marker <= 0x01 || (marker >= 0xd0 && marker <= 0xda)) return;
    const end = at + 2 + Math.max(2, view.getUint16(at + 2));
    yield { marker, start: at + 4, end };
    at = end;
  }
}

function sizeOfJpeg(view: DataView): Size | null {
  for (const { marker, start } of segments(view)) {
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { height: view.getUint16(start + 1), width: view.getUint16(start + 3) };
  }
  return null;
}

/** All sizes stand in boxes called "ispe" within the one that says what the file is; the largest of them is that of the whole. */
function sizeOfAvif(bytes: Uint8Array, view: DataView): Size | null {
  let [start, end] = [0, view.getUint32(0)];
  while (letters(bytes, start + 4, start + 8) !== "meta") {
    if (end < start + 8) return null;
    [start, end] = [end, end + view.getUint32(end)];
  }
  // Of a series of pictures the largest stands elsewhere.
  if (end > bytes.length || letters(bytes, 8, 12) === "avis") return null;
  let size: Size | null = null;
  for (let at = bytes.indexOf(0x69, start); at >= 0 && at + 16 <= end; at = bytes.indexOf(0x69, at + 1)) {
    if (letters(bytes, at, at + 4) !== "ispe") continue;
    const next = { width: view.getUint32(at + 8), height: view.getUint32(at + 12) };
    if (size === null || next.width * next.height > size.width * size.height) size = next;
  }
  return size;
}

/** The small JPEG that a camera has put into a large one, and how both are turned: 1 to 8, as EXIF counts. */
export function cameraPicture(bytes: Uint8Array<ArrayBuffer>): { bytes: Uint8Array<ArrayBuffer>; turn: number } | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    for (const { marker, start, end } of segments(view)) {
      if (marker !== 0xe1 || letters(bytes, start, start + 6) !== "Exif\0\0") continue;
      return inExif(bytes.subarray(start + 6, Math.min(end, bytes.length)));
    }
    return null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function inExif(exif: Uint8Array<ArrayBuffer>): { bytes: Uint8Array<ArrayBuffer>; turn: number } | null {
  const view = new DataView(exif.buffer, exif.byteOffset, exif.byteLength);
  const isLittle = view.getUint16(0) === 0x4949;
  /** Values of some tags of a directory; and where the next one lies. */
  const directory = (at: number): { tags: Map<number, number>; next: number } => {
    const tags = new Map<number, number>();
    const count = view.getUint16(at, isLittle);
    for (let i = 0; i < count; i++) {
      const entry = at + 2 + i * 12;
      const isShort = view.getUint16(entry + 2, isLittle) === 3;
      tags.set(view.getUint16(entry, isLittle), isShort ? view.getUint16(entry + 8, isLittle) : view.getUint32(entry + 8, isLittle));
    }
    return { tags, next: view.getUint32(at + 2 + count * 12, isLittle) };
  };
  const first = directory(view.getUint32(4, isLittle));
  if (first.next === 0) return null;
  const { tags } = directory(first.next);
  const [start, length] = [tags.get(0x0201), tags.get(0x0202)];
  if (!start || !length) return null;
  const small = exif.subarray(start, start + length);
  const turn = first.tags.get(0x0112) ?? 1;
  return small.length === length && letters(small, 0, 3) === "\xff\xd8\xff" ? { bytes: small, turn: turn >= 1 && turn <= 8 ? turn : 1 } : null;
}
