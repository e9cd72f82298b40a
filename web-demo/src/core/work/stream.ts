//! Stream: the windows of a large file on their way from the worker that reads it.

import type { FromWorker } from "./protocol";

/** A window of a large file. */
export interface Window {
  ids: Uint8Array;
  lengths: Uint32Array;
  bytes: Uint8Array<ArrayBuffer>;
}

/** What a stream has to do with its worker. */
export interface Reading {
  /** A window was taken: another one may be read. */
  more(): void;
  /** Nobody takes any more. */
  drop(): void;
  /** It is over, in whichever way. */
  end(): void;
}

/** The windows of a file, in order. The worker reads the first ones before anybody asks; whoever does not take all of them
 * says so with `return`, as leaving a loop does. */
export class Stream implements AsyncIterableIterator<Window, undefined> {
  #arrived: FromWorker[] = [];
  #wake: (() => void) | null = null;
  #isOver = false;
  /** Whether a window was given out and the worker not told yet that it is taken. */
  #isOwed = false;

  constructor(private readonly reading: Reading) {}

  /** Something has come from the worker. */
  take(answer: FromWorker): void {
    if (!this.#isOver) this.#arrived.push(answer);
    this.#wake?.();
  }

  /** The next window; throws a DOMException of the name that reading failed with. */
  async next(): Promise<IteratorResult<Window, undefined>> {
    if (this.#isOwed) this.reading.more();
    this.#isOwed = false;
    while (!this.#isOver && this.#arrived.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    const answer = this.#isOver ? undefined : this.#arrived.shift();
    if (answer?.type === "window") {
      this.#isOwed = true;
      return { done: false, value: { ids: answer.ids, lengths: answer.lengths, bytes: answer.bytes } };
    }
    this.#close();
    if (answer?.type === "end" && answer.reason !== null) throw new DOMException("reading failed", answer.reason);
    if (answer?.type === "failed") throw new Error(answer.reason);
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<Window, undefined>> {
    if (!this.#isOver) this.reading.drop();
    this.#close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #close(): void {
    if (this.#isOver) return;
    [this.#isOver, this.#isOwed, this.#arrived] = [true, false, []];
    this.reading.end();
    this.#wake?.();
  }
}
