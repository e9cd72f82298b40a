//! Pool: the workers that read, compress and seal, and which of them is asked next.

import { buffersOf } from "../buffers";
import type { Parameters } from "../engine";
import { failure } from "../problem";
import type { Block, FromWorker, Read, Sealed, Slices, Spent, ToWorker } from "./protocol";
import { Stream, type Window } from "./stream";

/** What blocks of a session are sealed with. */
export interface Sealing {
  cipher: CryptoKey;
  /** Gives a copy of the key that makes nonces; the worker overwrites it. */
  key: () => Uint8Array<ArrayBuffer>;
}

/** Something that workers do; tests do it themselves. */
export interface Labour {
  readonly workers: number;
  /** Reads small files, where they were not read yet, and cuts them. */
  read(files: (File | Uint8Array<ArrayBuffer>)[]): Promise<Read[]>;
  /** Begins to read a large file; what comes of it is to be taken to its end, or given up by `return`. */
  stream(file: File | Slices): AsyncIterableIterator<Window>;
  /** What comes after this is sealed for another session. */
  begin(session: Sealing): void;
  /** Compresses and seals a block, and reads it back. */
  seal(block: Block): Promise<Sealed>;
  readonly spent: Spent;
  end(): void;
}

/** What a worker is, as far as this needs one. */
export interface WorkerLike<To = ToWorker, From = FromWorker> {
  postMessage(message: To, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<From>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  terminate(): void;
}

export interface PoolOptions {
  workers: number;
  /** Makes a worker. */
  spawn: () => WorkerLike;
  /** The one for sealing. */
  module: WebAssembly.Module;
  /** Gives a copy of the key that names chunks; the worker overwrites it. */
  key: () => Uint8Array<ArrayBuffer>;
  parameters: Parameters;
  level: number;
}

/** Starts the workers and waits until they are ready. */
export async function startPool(options: PoolOptions): Promise<Labour> {
  const hands = await Promise.all(Array.from({ length: options.workers }, () => Hand.start(options)));
  return new Pool(hands);
}

class Pool implements Labour {
  constructor(private readonly hands: Hand[]) {}

  get workers(): number {
    return this.hands.length;
  }

  get spent(): Spent {
    const sum = { read: 0, hash: 0, compress: 0, seal: 0 };
    for (const { spent } of this.hands) {
      sum.read += spent.read;
      sum.hash += spent.hash;
      sum.compress += spent.compress;
      sum.seal += spent.seal;
    }
    return sum;
  }

  async read(files: (File | Uint8Array<ArrayBuffer>)[]): Promise<Read[]> {
    const bytes = files.reduce((sum, file) => sum + (file instanceof File ? file.size : file.length), 0);
    const read = buffersOf(files.flatMap((file) => (file instanceof File ? [] : file)));
    const answer = await this.#least().ask((job) => ({ type: "read", job, files }), read, bytes);
    if (answer.type !== "read") throw new Error("another answer than was asked for");
    return answer.results;
  }

  stream(file: File | Slices): AsyncIterableIterator<Window> {
    return this.#least().stream(file);
  }

  begin({ cipher, key }: Sealing): void {
    for (const hand of this.hands) {
      const copy = key();
      hand.tell({ type: "session", cipher, key: copy }, [copy.buffer]);
    }
  }

  async seal(block: Block): Promise<Sealed> {
    // Compressing and sealing cost several times what cutting does.
    const cost = 4 * block.raw.length;
    const answer = await this.#least().ask((job) => ({ type: "seal", job, block }), [block.raw.buffer], cost);
    if (answer.type !== "sealed") throw new Error("another answer than was asked for");
    return answer.sealed;
  }

  end(): void {
    for (const hand of this.hands) hand.end();
  }

  /** Whoever has the least to do. */
  #least(): Hand {
    return this.hands.reduce((best, hand) => (hand.load < best.load ? hand : best));
  }
}

/** One worker, and who waits for it. */
class Hand {
  load = 0;
  readonly spent: Spent = { read: 0, hash: 0, compress: 0, seal: 0 };
  #jobs = new Map<number, (answer: FromWorker) => void>();
  #next = 0;
  #isEnded = false;

  private constructor(private readonly worker: WorkerLike) {}

  static start(options: PoolOptions): Promise<Hand> {
    const worker = options.spawn();
    const hand = new Hand(worker);
    return new Promise((resolve, reject) => {
      worker.onerror = ({ message }) => {
        // A script that could not be fetched is told without a text.
        reject(message === undefined ? failure("part-gone") : new Error("a worker could not be started"));
        hand.fail("worker");
      };
      worker.onmessage = ({ data }) => {
        if (data.type === "ready") resolve(hand);
        else if (data.type === "failed" && data.job === null) reject(new Error("a worker could not be started"));
        else hand.take(data);
      };
      const key = options.key();
      const { module, parameters, level } = options;
      worker.postMessage({ type: "begin", module, key, parameters, level }, [key.buffer]);
    });
  }

  ask(make: (job: number) => ToWorker, transfer: Transferable[], cost: number): Promise<FromWorker> {
    const job = this.#next++;
    this.load += cost + FIXED;
    return new Promise<FromWorker>((resolve, reject) => {
      if (this.#isEnded) return reject(new DOMException("ended", "AbortError"));
      this.#jobs.set(job, (answer) => {
        this.#jobs.delete(job);
        this.load -= cost + FIXED;
        if (answer.type === "failed") reject(new Error(answer.reason));
        else resolve(answer);
      });
      this.worker.postMessage(make(job), transfer);
    });
  }

  tell(message: ToWorker, transfer: Transferable[]): void {
    if (!this.#isEnded) this.worker.postMessage(message, transfer);
  }

  stream(file: File | Slices): Stream {
    const job = this.#next++;
    // A window at a time is under way, however long the file is.
    this.load += STREAMING;
    const stream = new Stream({
      more: () => this.tell({ type: "more", job }, []),
      drop: () => this.tell({ type: "drop", job }, []),
      end: () => {
        this.#jobs.delete(job);
        this.load -= STREAMING;
      },
    });
    if (this.#isEnded) {
      stream.take({ type: "failed", job, reason: "AbortError" });
      return stream;
    }
    this.#jobs.set(job, (answer) => {
      if (answer.type === "want") void this.#slice(file as Slices, answer);
      else stream.take(answer);
    });
    this.worker.postMessage({ type: "stream", job, file: file instanceof File ? file : file.size }, []);
    return stream;
  }

  /** Reads a part of a file that its worker wants. */
  async #slice(file: Slices, { job, start, end }: Extract<FromWorker, { type: "want" }>): Promise<void> {
    const slice = await file.read(start, end).catch((error: unknown) => (error instanceof Error ? error.name : "unknown"));
    this.tell({ type: "slice", job, slice }, typeof slice === "string" ? [] : [slice.buffer]);
  }

  take(answer: FromWorker): void {
    if ("spent" in answer) {
      this.spent.read += answer.spent.read;
      this.spent.hash += answer.spent.hash;
      this.spent.compress += answer.spent.compress;
      this.spent.seal += answer.spent.seal;
    }
    if ("job" in answer && answer.job !== null) this.#jobs.get(answer.job)?.(answer);
  }

  /** Whoever waits is told that nothing comes any more. */
  fail(reason: string): void {
    for (const [job, tell] of [...this.#jobs]) tell({ type: "failed", job, reason });
  }

  end(): void {
    this.#isEnded = true;
    this.worker.terminate();
    this.fail("AbortError");
  }
}

/** What a message costs, in bytes of work. */
const FIXED = 64 << 10;
/** What a file that streams counts as. */
const STREAMING = 8 << 20;
