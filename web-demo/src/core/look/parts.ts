//! Parts: verified bytes of files of a snapshot, in memory.

import type { EntryId } from "../api";
import type { EntryFacts, Piece, Tree } from "../engine";
import { release } from "../buffers";
import type { Patience } from "../gateway/retry";
import { failure } from "../problem";
import type { Shelf } from "../restore/shelf";

/** A part of one file. */
export interface Part {
  entry: EntryFacts;
  bytes: Uint8Array<ArrayBuffer>;
  /** Some of the bytes cannot be had: nothing of them may be shown. */
  isDamaged: boolean;
}

/** Reads of each file the bytes from `start` up to `end`, as far as the file has them. A block that several files share is read
 * once. Whoever asks bounds the bytes, and asks for files only. */
export async function readParts(shelf: Shelf, tree: Tree, files: EntryId[], start: number, end: number, patience: Patience): Promise<Map<EntryId, Part>> {
  const found = new Map<number, Part>();
  const put = (pieces: Piece[]) => {
    for (const { file, offset, bytes } of pieces) {
      const part = found.get(file);
      if (!part) continue;
      const [from, to] = [Math.max(offset, start), Math.min(offset + bytes.length, start + part.bytes.length)];
      if (from < to) part.bytes.set(bytes.subarray(from - offset, to - offset), from - start);
      release(bytes.buffer);
    }
  };
  const restore = tree.restore(files, start, end);
  try {
    for (;;) {
      const window = restore.next();
      if (window.needs.length > 0) {
        await shelf.supply(window.needs, patience);
        continue;
      }
      for (const entry of window.entries) {
        const length = Math.max(0, Math.min(entry.size, end) - start);
        if (entry.kind === "file") found.set(entry.file, { entry, bytes: new Uint8Array(length), isDamaged: false });
      }
      for (const { file, path } of window.damaged) {
        const part = found.get(file ?? -1);
        if (!part) throw failure("damaged", path);
        part.isDamaged = true;
      }
      put(window.pieces);
      await shelf.read(window.reads, patience, async (bytes, at) => {
        for await (const pieces of shelf.take(restore, at, bytes)) put(pieces);
      });
      if (window.isDone) break;
    }
  } finally {
    restore.free();
  }
  return new Map([...found.values()].map((part) => [part.entry.id, part]));
}
