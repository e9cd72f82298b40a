/** Finding: names that contain a text, as they are found. The newest search counts, earlier ones are cancelled. */

import { signal } from "@preact/signals";
import type { Core, Entry, EntryId, Problem, SearchProgress, SearchResult } from "../core/api";
import { Following } from "./following";

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
  readonly #following = new Following<SearchProgress, SearchResult>();

  constructor(private readonly core: Core) {}

  async find(snapshot: string, directory: EntryId, text: string): Promise<void> {
    this.stop();
    if (text.trim() === "") return;
    const start: Found = { text, hits: [], looked: 0, running: true, more: false, problem: null };
    this.found.value = start;
    await this.#following.follow(() => this.core.search(snapshot, directory, text.trim()), {
      progress: (progress) => { this.found.value = { ...start, ...progress }; },
      done: ({ damage, ...result }) => { this.found.value = { ...start, ...result, running: false, problem: damage[0] ?? null }; },
      failed: (problem) => { this.found.value = { ...(this.found.value ?? start), running: false, problem }; },
    });
  }

  stop(): void {
    this.#following.stop();
    this.found.value = null;
  }
}
