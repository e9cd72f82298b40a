//! Tabs: whether another tab of this browser has the same repository open. The first one holds a lock, and the next ones wait for
//! it: the browser gives it on when a tab is closed or crashes.

export class Tabs {
  #leaving: AbortController | null = null;

  /** `tell`: whether another tab holds it, each time that changes. */
  constructor(
    private readonly locks: Pick<LockManager, "request"> | undefined,
    private readonly tell: (held: boolean) => void,
  ) {}

  /** This tab has opened a repository. */
  join(repository: string): void {
    this.leave();
    const leaving = (this.#leaving = new AbortController());
    const { signal } = leaving;
    let isTold = false;
    const hold = async () => {
      if (isTold && !signal.aborted) this.tell(false);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    };
    const name = `copal open ${repository}`;
    const first = this.locks?.request(name, { ifAvailable: true }, async (lock) => {
      if (signal.aborted) return;
      if (lock) return hold();
      isTold = true;
      this.tell(true);
      // Not awaited: this request has nothing to hold.
      void this.locks?.request(name, { signal }, hold).catch(() => {});
    });
    void first?.catch(() => {});
  }

  /** It is closed again. */
  leave(): void {
    this.#leaving?.abort();
    this.#leaving = null;
    this.tell(false);
  }
}
