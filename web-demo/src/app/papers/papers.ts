/** Papers: a PDF whose pages are drawn by a worker, from the bytes that it needs of the file. */

import type { Problem } from "../../core/api";
import { problemOf } from "../../core/problem";
import { ownScript } from "../../core/trusted";
import type { FromPapers, ToPapers } from "./protocol";
import workerUrl from "./worker.ts?worker&url";

export interface Page { page: number; picture: ImageBitmap; text: string }
export type Failure = { why: "problem"; problem: Problem } | { why: "locked" | "strange" };

export interface Listener {
  opened(pages: number): void;
  drawn(page: Page): void;
  failed(failure: Failure): void;
}

export class Papers {
  readonly #worker: Worker;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Reads that are under way: whoever waits for them is not late. */
  #reads = 0;
  #isEnded = false;

  constructor(total: number, private readonly read: (start: number, end: number) => Promise<Uint8Array>, private readonly listener: Listener) {
    this.#worker = new Worker(ownScript(workerUrl), { type: "module", name: "copal-papers" });
    this.#worker.onmessage = ({ data }: MessageEvent<FromPapers>) => this.#hear(data);
    this.#worker.onerror = () => this.#fail({ why: "strange" });
    this.#ask({ type: "open", total });
  }

  draw(page: number, width: number): void {
    this.#ask({ type: "page", page, width });
  }

  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.#worker.terminate();
  }

  #hear(message: FromPapers): void {
    switch (message.type) {
      case "want": return void this.#fetch(message.start, message.end);
      case "opened":
        clearTimeout(this.#timer);
        return this.listener.opened(message.pages);
      case "page":
        clearTimeout(this.#timer);
        return this.listener.drawn(message);
      case "failed": return this.#fail({ why: message.isLocked ? "locked" : "strange" });
    }
  }

  async #fetch(start: number, end: number): Promise<void> {
    this.#reads += 1;
    clearTimeout(this.#timer);
    try {
      const bytes = await this.read(start, end);
      this.#worker.postMessage({ type: "bytes", start, bytes } satisfies ToPapers, [bytes.buffer]);
    } catch (error) {
      this.#fail({ why: "problem", problem: problemOf(error) });
    } finally {
      this.#reads -= 1;
      this.#watch();
    }
  }

  #ask(message: ToPapers): void {
    this.#worker.postMessage(message);
    this.#watch();
  }

  #watch(): void {
    clearTimeout(this.#timer);
    if (this.#reads === 0 && !this.#isEnded) this.#timer = setTimeout(() => this.#fail({ why: "strange" }), MOST_MS);
  }

  #fail(failure: Failure): void {
    if (this.#isEnded) return;
    this.end();
    this.listener.failed(failure);
  }
}

/** A worker that says nothing for longer, while it has all that it asked for, is ended. */
const MOST_MS = 20_000;
