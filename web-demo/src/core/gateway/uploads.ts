//! Uploads: packs on their way, a few at once, so that memory stays bounded and the line is never idle.

/** A bounded number of tasks at once. Whoever adds one waits for room; a failure ends all. */
export class Uploads {
  #running = new Set<Promise<void>>();
  #failure: { error: unknown } | null = null;

  constructor(public most: number) {}

  /** Starts a task once there is room. Throws what an earlier one failed with. */
  async add(task: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.most) await Promise.race(this.#running);
    this.#check();
    const running = task()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Ends once every task has; throws what one failed with. */
  async all(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    this.#check();
  }

  /** Ends once one more task has ended; throws what one failed with. */
  async some(): Promise<void> {
    if (this.#running.size > 0) await Promise.race(this.#running);
    this.#check();
  }

  /** Tasks under way. */
  get size(): number {
    return this.#running.size;
  }

  #check(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
