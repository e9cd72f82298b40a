//! Worker: reads files in slices, cuts and names their chunks, compresses and seals blocks under the numbers that it is
//! told. It knows the key that names chunks and the one that makes nonces; the cipher's own it can use and not see.

import { buffersOf, release } from "../buffers";
import { Chunker, Sealer, initSync } from "../backup/engine";
import { readTogether } from "../source/together";
import { reason } from "./reason";
import type { Block, FromWorker, Read, Spent, ToWorker } from "./protocol";

let chunker: Chunker;
let sealer: Sealer | null = null;
let cipherKey: CryptoKey;
let inlineMax = 0;
let level = 0;
/** Who waits to go on with a large file, for room or for a part of it. */
const streams = new Map<number, { credit: number; wake: (() => void) | null; dropped: boolean; slice: Uint8Array<ArrayBuffer> | string | null }>();

self.onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  try {
    await take(data);
  } catch (error) {
    tell({ type: "failed", job: "job" in data ? data.job : null, reason: reason(error) });
  }
};

async function take(message: ToWorker): Promise<void> {
  switch (message.type) {
    case "begin":
      initSync({ module: message.module });
      chunker = new Chunker(message.key, message.parameters);
      message.key.fill(0);
      level = message.level;
      inlineMax = message.parameters.inlineMax;
      return tell({ type: "ready" });
    case "session":
      sealer?.free();
      sealer = chunker.sealer(message.key, level);
      cipherKey = message.cipher;
      return;
    case "read": {
      const spent = nothing();
      const results = await small(message.files, spent);
      return tell({ type: "read", job: message.job, results, spent }, buffersOf(results.flatMap((read) => (read.kind === "failed" ? [] : read.bytes))));
    }
    case "stream":
      streams.set(message.job, { credit: WINDOWS_AHEAD, wake: null, dropped: false, slice: null });
      return stream(message.job, message.file);
    case "slice":
    case "more":
    case "drop": {
      const found = streams.get(message.job);
      if (!found) return;
      if (message.type === "slice") found.slice = message.slice;
      else found.credit += 1;
      found.dropped ||= message.type === "drop";
      found.wake?.();
      return;
    }
    case "seal": {
      const spent = nothing();
      const stored = await seal(message.block, spent);
      const raw = message.block.raw.buffer;
      return tell({ type: "sealed", job: message.job, sealed: { stored, raw }, spent }, [stored.buffer, raw]);
    }
  }
}

/** Compresses and seals a block, and opens it again: a flipped bit must not become a lost backup. */
async function seal({ counter, kind, ids, lengths, raw }: Block, spent: Spent): Promise<Uint8Array<ArrayBuffer>> {
  const mine = sealer!;
  const begun = performance.now();
  const { plaintext, iv, additionalData } = mine.prepare(counter, kind, ids, lengths, raw);
  const compressed = performance.now();
  spent.compress += compressed - begun;
  const cipher = { name: "AES-GCM", iv, additionalData };
  const sealed = await crypto.subtle.encrypt(cipher, cipherKey, plaintext);
  release(plaintext.buffer);
  const opened = await crypto.subtle.decrypt(cipher, cipherKey, sealed);
  mine.opened(counter, new Uint8Array(opened));
  release(opened);
  const stored = new Uint8Array(iv.length + sealed.byteLength);
  stored.set(iv);
  stored.set(new Uint8Array(sealed), iv.length);
  release(sealed);
  spent.seal += performance.now() - compressed;
  return stored;
}

function nothing(): Spent {
  return { read: 0, hash: 0, compress: 0, seal: 0 };
}

/** Reads small files, where they were not read yet: together, if that can be. */
async function small(files: (File | Uint8Array<ArrayBuffer>)[], spent: Spent): Promise<Read[]> {
  const begun = performance.now();
  const unread = files.filter((file) => file instanceof File);
  const contents = unread.length > 1 ? await readTogether(unread) : null;
  spent.read += performance.now() - begun;
  const results: Read[] = [];
  let at = 0;
  for (const file of files) results.push(await whole(file instanceof File ? (contents?.[at++] ?? file) : file, spent));
  return results;
}

/** Reads and cuts a small file. */
async function whole(file: File | Uint8Array<ArrayBuffer>, spent: Spent): Promise<Read> {
  let bytes: Uint8Array<ArrayBuffer>;
  const begun = performance.now();
  try {
    bytes = file instanceof File ? new Uint8Array(await file.arrayBuffer()) : file;
  } catch (error) {
    return { kind: "failed", reason: reason(error) };
  }
  const read = performance.now();
  spent.read += read - begun;
  if (bytes.length <= inlineMax) return { kind: "inline", bytes };
  const { ids, lengths } = chunker.cut(bytes, true);
  spent.hash += performance.now() - read;
  return { kind: "chunks", ids, lengths, bytes };
}

/** Reads a large file; what is behind the last certain cut comes again at the front of the next window. */
async function stream(job: number, file: File | number): Promise<void> {
  const state = streams.get(job)!;
  let left = new Uint8Array(0);
  let at = 0;
  let size = typeof file === "number" ? file : file.size;
  const until = async (holds: () => boolean) => {
    while (!holds() && !state.dropped) await new Promise<void>((resolve) => (state.wake = resolve));
    state.wake = null;
  };
  const wanted = async (start: number, end: number) => {
    state.slice = null;
    tell({ type: "want", job, start, end });
    await until(() => state.slice !== null);
    if (typeof state.slice === "string") throw new DOMException("reading failed", state.slice);
    return state.slice ?? new Uint8Array(0);
  };
  try {
    while (at < size || left.length > 0) {
      await until(() => state.credit > 0);
      if (state.dropped) return;
      const begun = performance.now();
      const end = Math.min(at + SLICE, size);
      const slice = typeof file === "number" ? await wanted(at, end) : new Uint8Array(await file.slice(at, end).arrayBuffer());
      if (state.dropped) return;
      if (slice.length !== end - at) {
        // A file that is shorter now is another one: whoever asked opens it anew, or takes it as it comes.
        if (typeof file !== "number") throw new DOMException("changed", "NotReadableError");
        size = at + slice.length;
      }
      at += slice.length;
      if (slice.length + left.length === 0) break;
      const window = new Uint8Array(left.length + slice.length);
      window.set(left);
      window.set(slice, left.length);
      release(left.buffer);
      release(slice.buffer);
      const read = performance.now();
      const { ids, lengths, consumed } = chunker.cut(window, at === size);
      const spent = { ...nothing(), read: read - begun, hash: performance.now() - read };
      left = window.slice(consumed);
      state.credit -= 1;
      // The bytes behind the cut travel along; nobody looks at them.
      const bytes = window.subarray(0, consumed);
      tell({ type: "window", job, ids, lengths, bytes, spent }, [window.buffer]);
    }
    tell({ type: "end", job, size, reason: null });
  } catch (error) {
    tell({ type: "end", job, size: at, reason: reason(error) });
  } finally {
    streams.delete(job);
  }
}

function tell(message: FromWorker, transfer: Transferable[] = []): void {
  postMessage(message, { transfer });
}

/** Bytes of a large file that are looked at together. */
const SLICE = 4 << 20;
/** Windows that may be under way. */
const WINDOWS_AHEAD = 2;
