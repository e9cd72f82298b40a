/** Listings: the entries of a directory as they come in, page by page, sorted as the person wants, and which are selected. */

import { computed, signal } from "@preact/signals";
import type { Core, Entry, EntryId, Problem } from "../core/api";
import { problemOf } from "../core/problem";

export type SortBy = "name" | "size" | "modified";

export interface Order {
  by: SortBy;
  down: boolean;
}

export interface Listed {
  entries: readonly Entry[];
  /** More are on their way. */
  loading: boolean;
  total: number | null;
  problem: Problem | null;
}

export class Listing {
  readonly listed = signal<Listed>(NOTHING);
  readonly order = signal<Order>({ by: "name", down: false });
  readonly selected = signal<ReadonlySet<EntryId>>(new Set());
  readonly rows = computed(() => sorted(this.listed.value.entries, this.order.value));
  /** Which opening is the newest: pages of an earlier one that come late are dropped. */
  #opening = 0;

  constructor(private readonly core: Core) {}

  async open(snapshot: string, directory: EntryId): Promise<void> {
    this.#opening += 1;
    const opening = this.#opening;
    this.selected.value = new Set();
    this.listed.value = { ...NOTHING, loading: true };
    const entries: Entry[] = [];
    let published = 0;
    let after: string | null = null;
    let damage: Problem | null = null;
    try {
      do {
        const page = await this.core.directory(snapshot, directory, after, PAGE);
        if (opening !== this.#opening) return;
        entries.push(...page.entries);
        after = page.next;
        damage ??= page.damage[0] ?? null;
        // Each time half as many again, so that sorting a huge directory while it comes costs no more than sorting it twice or so.
        if (after === null || entries.length >= published * 1.5) {
          published = entries.length;
          this.listed.value = { entries: entries.slice(), loading: after !== null, total: page.total, problem: damage };
        }
      } while (after !== null);
    } catch (thrown) {
      if (opening === this.#opening) this.listed.value = { entries, loading: false, total: null, problem: problemOf(thrown) };
    }
  }

  /** What a page that locks must let go of. */
  forget(): void {
    this.#opening += 1;
    this.listed.value = NOTHING;
    this.selected.value = new Set();
  }

  sortBy(by: SortBy): void {
    const order = this.order.value;
    // Large and new first is what one looks for; names go from A.
    this.order.value = order.by === by ? { by, down: !order.down } : { by, down: by !== "name" };
  }

  toggle(id: EntryId): void {
    const next = new Set(this.selected.value);
    if (!next.delete(id)) next.add(id);
    this.selected.value = next;
  }

  /** Selects all, or nothing if all are selected. */
  toggleAll(): void {
    const { entries } = this.listed.value;
    this.selected.value = this.selected.value.size === entries.length ? new Set() : new Set(entries.map((entry) => entry.id));
  }

  clear(): void {
    this.selected.value = new Set();
  }
}

/** Directories first, whatever else is wanted; equal ones by name, so that the order is always the same. */
export function sorted(entries: readonly Entry[], order: Order): Entry[] {
  const direction = order.down ? -1 : 1;
  return entries.slice().sort((a, b) => {
    const directories = Number(b.kind === "directory") - Number(a.kind === "directory");
    if (directories !== 0) return directories;
    return direction * by(order.by, a, b) || NAMES.compare(a.name, b.name) || (a.path < b.path ? -1 : 1);
  });
}

function by(what: SortBy, a: Entry, b: Entry): number {
  switch (what) {
    case "name": return NAMES.compare(a.name, b.name);
    case "size": return a.size - b.size;
    case "modified": return (a.modified ?? 0) - (b.modified ?? 0);
  }
}

/** "file 2" stands before "file 10". */
const NAMES = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const PAGE = 2000;
const NOTHING: Listed = { entries: [], loading: false, total: null, problem: null };
