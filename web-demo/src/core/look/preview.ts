//! Preview: what is worth showing of a file, judged by its bytes: a picture whole, of all else the beginning.

import type { EntryId, Preview } from "../api";
import { type Books, PARTS_MOST } from "../restore/books";
import { kindOf } from "./kinds";
import { isModest, sizeOf } from "./pictures";

export async function preview(books: Pick<Books, "part">, snapshot: string, file: EntryId, limit: number): Promise<Preview> {
  const most = Math.min(limit, PARTS_MOST);
  const head = await books.part(snapshot, file, 0, Math.min(most, HEAD));
  const { size } = head.entry;
  const kind = kindOf(head.bytes, head.bytes.length < size);
  if (kind.kind !== "image") return { ...kind, bytes: head.bytes, total: size };
  const pixels = sizeOf(head.bytes, kind.mediaType!);
  // Who cannot or must not be shown it needs none of it.
  if (!isModest(pixels) || size > most) return { ...kind, bytes: new Uint8Array(0), total: size, pixels };
  const bytes = head.bytes.length < size ? (await books.part(snapshot, file, 0, size)).bytes : head.bytes;
  return { ...kind, bytes, total: size, pixels };
}

/** Bytes by which a file is judged. */
const HEAD = 1 << 20;
