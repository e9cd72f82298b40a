/** Marking: what a person wants to be done to snapshots: asked first, then signed, and what became of it. */

import { signal } from "@preact/signals";
import type { Guard, Snapshot, SnapshotList, Wish } from "../core/api";
import type { Asked } from "./asked";
import { Signing, type Unsigned } from "./signing";

export type Act = Wish["do"];

interface About {
  act: Act;
  snapshots: readonly Snapshot[];
  /** Of what is to be forgotten: what the policy keeps all the same. */
  guard: Asked<Guard> | null;
}

export type Question = Unsigned<About>;

/** What became of it. */
export interface Outcome {
  act: Act;
  /** "waiting": the server has not taken it in yet. */
  state: "done" | "waiting";
  changed: number;
  unchanged: number;
}

export class Marking extends Signing<About> {
  /** The forgotten snapshots, while they are shown in place of the kept ones. */
  readonly forgotten = signal<Asked<SnapshotList> | null>(null);
  readonly outcome = signal<Outcome | null>(null);

  /** Shows the forgotten ones, or the kept ones again. */
  async showForgotten(shows: boolean): Promise<void> {
    this.dropAnswers();
    this.outcome.value = null;
    this.forgotten.value = shows ? { at: "asking" } : null;
    if (shows) await this.#loadForgotten();
  }

  async begin(act: Act, snapshots: readonly Snapshot[]): Promise<void> {
    this.outcome.value = null;
    this.put({ act, snapshots, guard: act === "forget" ? { at: "asking" } : null });
    if (act === "forget") await this.hear(this.core.guard(forgettable(snapshots).map(({ id }) => id)), (guard) => this.add({ guard }));
  }

  /** Signs what was asked; `tags` where it is about tags. */
  async sign(tags: { add: string[]; remove: string[] }, device: string | null): Promise<void> {
    const question = this.question.value;
    if (!question) return;
    const { act, snapshots } = question;
    const ids = (act === "forget" ? forgettable(snapshots) : snapshots).map(({ id }) => id);
    const wish: Wish = act === "tag" ? { do: act, snapshots: ids, ...tags } : { do: act, snapshots: ids };
    await this.signOnce(() => this.core.changeSnapshots(wish, device), ({ state, unchanged }) => {
      this.outcome.value = { act, state, changed: ids.length - unchanged.length, unchanged: unchanged.length };
      if (this.forgotten.value) void this.#loadForgotten();
    });
  }

  /** What a page that locks must let go of. */
  forget(): void {
    this.put(null);
    this.forgotten.value = null;
    this.outcome.value = null;
  }

  async #loadForgotten(): Promise<void> {
    await this.hear(this.core.forgotten(), (asked) => { this.forgotten.value = asked; });
  }
}

/** Pinned snapshots cannot be forgotten. */
export function forgettable(snapshots: readonly Snapshot[]): Snapshot[] {
  return snapshots.filter(({ pinned }) => !pinned);
}

/** The tags that any of some snapshots has. */
export function tagsOf(snapshots: readonly Snapshot[]): string[] {
  return [...new Set(snapshots.flatMap(({ tags }) => tags))].sort();
}

/** Tags as a person types them, with commas between them. */
export function typedTags(text: string): string[] {
  return [...new Set(text.split(",").map((tag) => tag.trim()).filter((tag) => tag !== ""))];
}
