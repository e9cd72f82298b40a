/** Comparing: what differs between two snapshots, page by page. */

import { computed, signal } from "@preact/signals";
import type { Change, Core, Problem } from "../core/api";
import { problemOf } from "../core/problem";

export interface Compared {
  changes: readonly Change[];
  loading: boolean;
  problem: Problem | null;
}

/** "folders": those that differ in details only. They may be many and say little, so the other choices leave them out. */
export type Shown = "all" | "folders" | Change["kind"];

export class Comparing {
  readonly compared = signal<Compared>({ changes: [], loading: false, problem: null });
  readonly shown = signal<Shown>("all");
  /** Differences but for those of `folders`. */
  readonly changes = computed(() => this.compared.value.changes.filter((change) => !isFolderDetail(change)));
  readonly folders = computed(() => this.compared.value.changes.filter(isFolderDetail));
  readonly counts = computed(() => countOf(this.changes.value));
  readonly rows = computed(() => {
    const shown = this.shown.value;
    if (shown === "folders") return this.folders.value;
    return shown === "all" ? this.changes.value : this.changes.value.filter((change) => change.kind === shown);
  });
  #opening = 0;

  constructor(private readonly core: Core) {}

  async open(before: string, after: string): Promise<void> {
    this.#opening += 1;
    const opening = this.#opening;
    this.shown.value = "all";
    this.compared.value = { changes: [], loading: true, problem: null };
    const changes: Change[] = [];
    let cursor: string | null = null;
    let published = 0;
    try {
      do {
        const page = await this.core.compare(before, after, cursor, PAGE);
        if (opening !== this.#opening) return;
        changes.push(...page.changes);
        cursor = page.next;
        if (cursor === null || changes.length >= published * 1.5) {
          published = changes.length;
          this.compared.value = { changes: changes.slice(), loading: cursor !== null, problem: null };
        }
      } while (cursor !== null);
    } catch (thrown) {
      if (opening === this.#opening) this.compared.value = { changes, loading: false, problem: problemOf(thrown) };
    }
  }

  forget(): void {
    this.#opening += 1;
    this.compared.value = { changes: [], loading: false, problem: null };
  }
}

function isFolderDetail({ kind, before, after }: Change): boolean {
  return kind === "metadata" && before?.kind === "directory" && after?.kind === "directory";
}

export function countOf(changes: readonly Change[]): Record<Change["kind"], number> {
  const counts = { added: 0, removed: 0, changed: 0, metadata: 0 };
  for (const change of changes) counts[change.kind] += 1;
  return counts;
}

const PAGE = 2000;
