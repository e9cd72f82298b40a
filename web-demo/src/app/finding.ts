/** Finding: names that contain a text, as they are found. The newest search counts, earlier ones are cancelled. */

import { signal } from "@preact/signals";
import type { Core, Entry, EntryId, Problem, Run, SearchProgress, SearchResult } from "../core/api";
import { problemOf } from "../core/problem";

export interface Found {
  text: string;
  hits: readonly Entry[];
  looked: number;
  running: boolean;
  /** There are more hits than are shown. */
  more: boolean;
  problem: Problem | null;
}

export class Finding {
  readonly found = signal<Found | null>(null);
  readonly #core: Core;
  #search = 0;
  #run: Run<SearchProgress, SearchResult> | null = null;

  constructor(core: Core) {
    this.#core = core;
  }

  async find(snapshot: string, directory: EntryId, text: string): Promise<void> {
    this.stop();
    const search = this.#search;
    if (text.trim() === "") return;
    const start: Found = { text, hits: [], looked: 0, running: true, more: false, problem: null };
    this.found.value = start;
    try {
      const run = await this.#core.search(snapshot, directory, text.trim());
      if (search !== this.#search) {
        run.done.catch(() => undefined);
        run.cancel();
        return;
      }
      this.#run = run;
      run.onProgress((progress) => {
        if (search === this.#search) this.found.value = { ...start, ...progress };
      });
      const { damage, ...result } = await run.done;
      if (search === this.#search) this.found.value = { ...start, ...result, running: false, problem: damage[0] ?? null };
    } catch (thrown) {
      if (search === this.#search) this.found.value = { ...(this.found.value ?? start), running: false, problem: problemOf(thrown) };
    }
  }

  stop(): void {
    this.#search += 1;
    this.#run?.cancel();
    this.#run = null;
    this.found.value = null;
  }
}
