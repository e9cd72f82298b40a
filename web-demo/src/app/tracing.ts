/** Tracing: the versions of one file over the snapshots. */

import { signal } from "@preact/signals";
import type { Core, EntryId, Problem, Versions } from "../core/api";
import { Following } from "./following";

export interface Traced extends Versions {
  running: boolean;
  problem: Problem | null;
}

export class Tracing {
  readonly traced = signal<Traced>(NOTHING);
  readonly #following = new Following<Versions, Versions>();

  constructor(private readonly core: Core) {}

  async open(snapshot: string, entry: EntryId, isWide: boolean): Promise<void> {
    this.traced.value = { ...NOTHING, running: true };
    await this.#following.follow(() => this.core.versions(snapshot, entry, isWide), {
      progress: (found) => { this.traced.value = { ...found, running: true, problem: null }; },
      done: (found) => { this.traced.value = { ...found, running: false, problem: null }; },
      failed: (problem) => { this.traced.value = { ...this.traced.value, running: false, problem }; },
    });
  }

  forget(): void {
    this.#following.stop();
    this.traced.value = NOTHING;
  }
}

const NOTHING: Traced = { versions: [], looked: 0, total: 0, running: false, problem: null };
