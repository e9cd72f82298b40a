//! Channel: what one task makes and another takes, a bounded number ahead. And a budget, for what is counted in bytes.

/** A bounded queue between two tasks. Items may count for more than one. */
export class Channel<T> {
  #items: T[] = [];
  #weight = 0;
  #end: { error: unknown } | "open" | "closed" = "open";
  #wake: (() => void)[] = [];

  constructor(
    private readonly most: number,
    private readonly weigh: (item: T) => number = () => 1,
  ) {}

  /** Adds an item once there is room for another one; false if nobody takes any more. */
  async put(item: T): Promise<boolean> {
    while (this.#end === "open" && this.#weight >= this.most) await this.#change();
    if (this.#end !== "open") return false;
    this.#items.push(item);
    this.#weight += this.weigh(item);
    this.#tell();
    return true;
  }

  /** Nothing comes any more; with an error, because something failed. */
  close(error?: unknown): void {
    if (this.#end !== "open") return;
    this.#end = error === undefined ? "closed" : { error };
    this.#tell();
  }

  /** Items in order, until it is closed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      if (this.#items.length > 0) {
        const item = this.#items.shift()!;
        this.#weight -= this.weigh(item);
        this.#tell();
        yield item;
      } else if (this.#end === "open") {
        await this.#change();
      } else if (this.#end === "closed") {
        return;
      } else {
        throw this.#end.error;
      }
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  #tell(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** Bytes that may be in memory at once. Whoever wants more than all of it gets it alone. */
export class Budget {
  #taken = 0;
  #isClosed = false;
  #wake: (() => void)[] = [];

  constructor(private readonly most: number) {}

  /** Whether so much could be had at once. */
  has(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.most;
  }

  /** Takes bytes once there are so many; false if there will be none. */
  async take(bytes: number): Promise<boolean> {
    while (!this.#isClosed && !this.has(bytes)) await new Promise<void>((resolve) => this.#wake.push(resolve));
    if (!this.#isClosed) this.#taken += bytes;
    return !this.#isClosed;
  }

  give(bytes: number): void {
    this.#taken -= bytes;
    this.#tell();
  }

  /** Nobody gives any more, and whoever waits need not. */
  close(): void {
    this.#isClosed = true;
    this.#tell();
  }

  #tell(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
