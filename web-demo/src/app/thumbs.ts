/** Thumbs: small pictures of what is in view, asked for a few at a time, and kept as long as they are not too many bytes. */

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Core, Entry, EntryId } from "../core/api";

/** What stands in the place of a picture: its address, or why there is none; null while it is on its way. */
export type Thumb = { address: string } | { why: "no-picture" | "too-large" | "damaged" | "broken" } | null;

interface Kept {
  snapshot: string;
  id: EntryId;
  thumb: Signal<Thumb>;
  /** How many places show it. */
  shown: number;
  isAsked: boolean;
  bytes: number;
}

export class Thumbs {
  /** In the order in which they were wanted last. */
  #kept = new Map<string, Kept>();
  #bytes = 0;
  #isAsking = false;
  /** Answers to what was asked before it forgot are dropped. */
  #age = 0;

  constructor(private readonly core: Pick<Core, "thumbnails">) {}

  /** Whether the name says that it may be a picture. The bytes decide; who looks only at these would read every file. */
  static mayHave(entry: Entry): boolean {
    return entry.kind === "file" && entry.size > 0 && /\.(jpe?g|jpe|jfif|png|gif|webp|avif|bmp)$/i.test(entry.name);
  }

  /** It is in view, until `leave`. */
  want(snapshot: string, id: EntryId): ReadonlySignal<Thumb> {
    const key = `${snapshot} ${id}`;
    const kept = this.#kept.get(key) ?? { snapshot, id, thumb: signal<Thumb>(null), shown: 0, isAsked: false, bytes: 0 };
    kept.shown += 1;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    // What comes into view together is asked for together.
    if (!kept.isAsked) setTimeout(() => void this.#ask(), TOGETHER);
    return kept.thumb;
  }

  leave(snapshot: string, id: EntryId): void {
    const kept = this.#kept.get(`${snapshot} ${id}`);
    if (kept) kept.shown -= 1;
  }

  /** What a page that locks must let go of. */
  forget(): void {
    this.#age += 1;
    for (const { thumb } of this.#kept.values()) release(thumb);
    this.#kept.clear();
    [this.#bytes, this.#isAsking] = [0, false];
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    const age = this.#age;
    this.#isAsking = true;
    for (let next = this.#next(); next.length > 0; next = this.#next()) {
      for (const kept of next) kept.isAsked = true;
      const found = await this.core.thumbnails(next[0]!.snapshot, next.map(({ id }) => id)).catch(() => null);
      if (age !== this.#age) return;
      next.forEach((kept, i) => this.#take(kept, found?.[i] ?? { why: "broken" }));
      this.#trim();
    }
    this.#isAsking = false;
  }

  /** A few that are in view and were not asked for, all of one snapshot. */
  #next(): Kept[] {
    const wanted = [...this.#kept.values()].filter(({ shown, isAsked }) => shown > 0 && !isAsked);
    return wanted.filter(({ snapshot }) => snapshot === wanted[0]!.snapshot).slice(0, AT_ONCE);
  }

  #take(kept: Kept, found: { picture: Blob } | Exclude<Thumb, { address: string } | null>): void {
    kept.bytes = "picture" in found ? found.picture.size : 0;
    this.#bytes += kept.bytes;
    kept.thumb.value = "picture" in found ? { address: URL.createObjectURL(found.picture) } : found;
  }

  /** Those that were wanted longest ago go first. */
  #trim(): void {
    for (const [key, kept] of this.#kept) {
      if (this.#bytes <= BYTES && this.#kept.size <= NUMBER) return;
      if (kept.shown > 0) continue;
      release(kept.thumb);
      this.#bytes -= kept.bytes;
      this.#kept.delete(key);
    }
  }
}

function release(thumb: Signal<Thumb>): void {
  if (thumb.value && "address" in thumb.value) URL.revokeObjectURL(thumb.value.address);
  thumb.value = null;
}

/** Milliseconds. */
const TOGETHER = 40;
const AT_ONCE = 8;
/** Of pictures that are kept: their bytes, and how many. */
const BYTES = 16 << 20;
const NUMBER = 2_000;
