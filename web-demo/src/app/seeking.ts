/** Seeking: a search over all snapshots, as it is asked for and as it comes in. */

import { computed, signal } from "@preact/signals";
import type { Core, Problem, Seek, SeekProgress, SeekResult } from "../core/api";
import { Following } from "./following";

export interface Sought extends SeekProgress {
  running: boolean;
  /** There are more hits than are shown. */
  more: boolean;
  problem: Problem | null;
}

export class Seeking {
  readonly asked = signal<Seek>(NOTHING);
  /** Whether anything is asked for that not every entry is. */
  readonly isAsked = computed(() => {
    const { name, series: _, ...others } = this.asked.value;
    return name.trim() !== "" || Object.values(others).some((one) => one !== null);
  });
  readonly sought = signal<Sought | null>(null);
  readonly #following = new Following<SeekProgress, SeekResult>();

  constructor(private readonly core: Core) {}

  /** Asks for something else, and searches anew. */
  async change(change: Partial<Seek>): Promise<void> {
    this.asked.value = { ...this.asked.value, ...change };
    await this.seek();
  }

  async seek(): Promise<void> {
    this.#following.stop();
    this.sought.value = null;
    if (!this.isAsked.value) return;
    const start: Sought = { hits: [], looked: 0, total: 0, running: true, more: false, problem: null };
    this.sought.value = start;
    await this.#following.follow(() => this.core.seek(this.asked.value), {
      progress: (progress) => { this.sought.value = { ...start, ...progress }; },
      done: ({ damage, ...result }) => { this.sought.value = { ...result, running: false, problem: damage[0] ?? null }; },
      failed: (problem) => { this.sought.value = { ...(this.sought.value ?? start), running: false, problem }; },
    });
  }

  forget(): void {
    this.#following.stop();
    this.asked.value = NOTHING;
    this.sought.value = null;
  }
}

const NOTHING: Seek = { name: "", kind: null, modifiedFrom: null, modifiedTo: null, sizeFrom: null, series: null };
