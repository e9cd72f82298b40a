//! Thumbnails: small pictures of pictures. They are drawn anew here: none of the bytes of a restored file goes into them.

import type { EntryId, Thumbnail } from "../api";
import { imageType } from "./kinds";
import type { Books } from "../restore/books";
import { cameraPicture, isModest, sizeOf } from "./pictures";

/** Draws pictures: decodes and encodes, with the browser's own code. */
export type Draw = (bytes: Uint8Array<ArrayBuffer>, mediaType: string, turn: number | null) => Promise<Blob>;

/** The thumbnails of some files, in their order. One picture at a time is decoded. */
export async function thumbnails(books: Pick<Books, "parts">, snapshot: string, files: EntryId[], draw: Draw = drawn): Promise<Thumbnail[]> {
  const asked = files.slice(0, FILES);
  const heads = await books.parts(snapshot, asked, 0, HEAD);
  const found: Thumbnail[] = [];
  for (const file of asked) {
    const head = heads.get(file);
    found.push(head && !head.isDamaged ? await thumbnail(head.bytes, head.entry.size, (end) => whole(books, snapshot, file, end), draw) : { why: "damaged" });
  }
  return found;
}

async function whole(books: Pick<Books, "parts">, snapshot: string, file: EntryId, end: number): Promise<Uint8Array<ArrayBuffer> | null> {
  const part = (await books.parts(snapshot, [file], 0, end)).get(file);
  return part && !part.isDamaged ? part.bytes : null;
}

async function thumbnail(head: Uint8Array<ArrayBuffer>, size: number, rest: (end: number) => Promise<Uint8Array<ArrayBuffer> | null>, draw: Draw): Promise<Thumbnail> {
  const mediaType = imageType(head);
  if (!mediaType) return { why: "no-picture" };
  const camera = size > SMALL && mediaType === "image/jpeg" ? cameraPicture(head) : null;
  if (camera && isModest(sizeOf(camera.bytes, mediaType))) {
    const made = await draw(camera.bytes, mediaType, camera.turn).catch(() => null);
    if (made) return { picture: made };
  }
  // A header that does not say how large it is in so many bytes is none of a camera or a program that means well.
  if (!isModest(sizeOf(head, mediaType)) || size > WHOLE) return { why: "too-large" };
  const bytes = size <= head.length ? head : await rest(size);
  if (!bytes) return { why: "damaged" };
  return draw(bytes, mediaType, null).then((picture): Thumbnail => ({ picture }), (): Thumbnail => ({ why: "broken" }));
}

/** `turn`: how it is to be turned; null if it says so itself. */
async function drawn(bytes: Uint8Array<ArrayBuffer>, mediaType: string, turn: number | null): Promise<Blob> {
  const { width, height } = sizeOf(bytes, mediaType)!;
  const edge = width >= height ? { resizeWidth: Math.min(width, EDGE) } : { resizeHeight: Math.min(height, EDGE) };
  const bitmap = await createImageBitmap(new Blob([bytes], { type: mediaType }), { ...edge, resizeQuality: "medium" });
  try {
    const isAside = turn !== null && turn >= 5;
    const canvas = new OffscreenCanvas(isAside ? bitmap.height : bitmap.width, isAside ? bitmap.width : bitmap.height);
    const context = canvas.getContext("2d")!;
    context.translate(canvas.width / 2, canvas.height / 2);
    const [quarters, isMirrored] = TURNS[turn ?? 1]!;
    context.rotate((quarters * Math.PI) / 2);
    if (isMirrored) context.scale(-1, 1);
    context.drawImage(bitmap, -bitmap.width / 2, -bitmap.height / 2);
    return await canvas.convertToBlob({ type: "image/webp", quality: 0.82 });
  } finally {
    bitmap.close();
  }
}

/** What EXIF's numbers mean: quarters of a turn to the right, of a picture that is mirrored first or not. */
const TURNS: Record<number, [number, boolean]> = { 1: [0, false], 2: [0, true], 3: [2, false], 4: [2, true], 5: [3, true], 6: [1, false], 7: [1, true], 8: [3, false] };
/** Files of one call. */
const FILES = 16;
/** Bytes of each that are read first: a camera's small picture lies in them. */
const HEAD = 128 << 10;
/** Files up to so many bytes are drawn from the whole, which looks better than a camera's small picture. */
const SMALL = 1 << 20;
/** No thumbnail is made of larger files. */
const WHOLE = 16 << 20;
/** Pixels of the longer edge. */
const EDGE = 400;
