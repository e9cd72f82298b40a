//! Streams: addresses of this page under which its players read files of a snapshot, piece by piece. A player asks with ranges,
//! and only a service worker can answer these (`public/media.js`): it asks here for each piece.

import type { EntryId, Problem, Stream } from "../api";
import { isPageKept } from "../keep/kept-page";
import { failure, problemOf } from "../problem";
import { ownScript } from "../trusted";

/** Verified bytes of a file, and how long it is. */
export type ReadPart = (snapshot: string, file: EntryId, start: number, end: number) => Promise<{ bytes: Uint8Array<ArrayBuffer>; total: number }>;

/** What the worker asks. */
export interface Asked { name: string; start: number; isFirst: boolean }
/** What it is told; null: nothing is open under that name, or its bytes cannot be had. */
export type Told = { bytes: ArrayBuffer; total: number; mediaType: string } | null;

/** The files that are open to players. */
export class Streams {
  #open = new Map<string, { snapshot: string; file: EntryId; mediaType: string; listeners: Set<(problem: Problem) => void> }>();
  #isListening = false;

  constructor(
    private readonly read: ReadPart,
    private readonly workers: ServiceWorkerContainer | undefined = globalThis.navigator?.serviceWorker,
  ) {}

  async open(snapshot: string, file: EntryId, mediaType: string): Promise<Stream> {
    const { workers } = this;
    if (!workers) throw failure("unsupported");
    if (!this.#isListening) {
      workers.addEventListener("message", ({ data, ports }: MessageEvent<Asked>) => void this.answer(data).then((told) => ports[0]?.postMessage(told, told ? [told.bytes] : [])));
      this.#isListening = true;
    }
    await this.#start(workers);
    const name = crypto.randomUUID();
    const listeners = new Set<(problem: Problem) => void>();
    this.#open.set(name, { snapshot, file, mediaType, listeners });
    return {
      address: `/media/${name}`,
      onProblem: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      end: () => {
        this.#open.delete(name);
        if (this.#open.size === 0) void this.#stop();
      },
    };
  }

  /** A piece: small at first, so that a film begins soon, then up to the next multiple of `PIECE`. */
  async answer({ name, start, isFirst }: Asked): Promise<Told> {
    const open = this.#open.get(name);
    if (!open || !Number.isSafeInteger(start) || start < 0) return null;
    const step = isFirst ? FIRST : PIECE;
    try {
      const { bytes, total } = await this.read(open.snapshot, open.file, start, (Math.floor(start / step) + 1) * step);
      // It may have been closed meanwhile.
      return this.#open.get(name) === open ? { bytes: bytes.buffer, total, mediaType: open.mediaType } : null;
    } catch (error) {
      for (const listener of open.listeners) listener(problemOf(error));
      return null;
    }
  }

  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Nothing is read under any address any more. */
  forget(): void {
    this.#open.clear();
    if (this.#isListening) void this.#stop();
  }

  /** Ends once a worker answers for this page. */
  async #start(workers: ServiceWorkerContainer): Promise<void> {
    try {
      await workers.register(ownScript("/media.js"), { scope: "/" });
      if (workers.controller) return;
      await new Promise<void>((resolve, reject) => {
        workers.addEventListener("controllerchange", () => resolve(), { once: true });
        setTimeout(reject, START);
      });
    } catch {
      throw failure("unsupported");
    }
  }

  /** The next page is not answered by it, and the browser ends it; but for a page that is to open without a network. */
  async #stop(): Promise<void> {
    if (await isPageKept()) return;
    const registration = await this.workers?.getRegistration("/").catch(() => undefined);
    if (this.#open.size === 0) await registration?.unregister().catch(() => false);
  }
}

/** Bytes of the first piece of an answer, and of those behind it. */
const FIRST = 1 << 20;
const PIECE = 4 << 20;
/** Milliseconds that a worker may take to start. */
const START = 15_000;
