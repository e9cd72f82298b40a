/** Marking: what a person wants to be done to snapshots: asked first, then signed, and what became of it. */

import { signal } from "@preact/signals";
import type { Core, Guard, Problem, Snapshot, SnapshotList, Wish } from "../core/api";
import { problemOf } from "../core/problem";
import { ask, type Asked } from "./asked";

export type Act = Wish["do"];

/** What is asked before anything is signed. */
export interface Question {
  act: Act;
  snapshots: readonly Snapshot[];
  /** Of what is to be forgotten: what the policy keeps all the same. */
  guard: Asked<Guard> | null;
  isSigning: boolean;
  problem: Problem | null;
}

/** What became of it. */
export interface Outcome {
  act: Act;
  /** "waiting": the server has not taken it in yet. */
  state: "done" | "waiting";
  changed: number;
  unchanged: number;
}

export class Marking {
  /** The forgotten snapshots, while they are shown in place of the kept ones. */
  readonly forgotten = signal<Asked<SnapshotList> | null>(null);
  readonly question = signal<Question | null>(null);
  readonly outcome = signal<Outcome | null>(null);
  readonly #core: Core;
  /** Answers that come after a lock, or after another question, are dropped. */
  #asking = 0;

  constructor(core: Core) {
    this.#core = core;
  }

  /** Shows the forgotten ones, or the kept ones again. */
  async showForgotten(shows: boolean): Promise<void> {
    this.#asking += 1;
    const asking = this.#asking;
    this.outcome.value = null;
    this.forgotten.value = shows ? { at: "asking" } : null;
    if (shows) await ask(this.#core.forgotten(), (asked) => { if (asking === this.#asking) this.forgotten.value = asked; });
  }

  async begin(act: Act, snapshots: readonly Snapshot[]): Promise<void> {
    this.#asking += 1;
    const asking = this.#asking;
    this.outcome.value = null;
    this.question.value = { act, snapshots, guard: act === "forget" ? { at: "asking" } : null, isSigning: false, problem: null };
    if (act !== "forget") return;
    await ask(this.#core.guard(forgettable(snapshots).map(({ id }) => id)), (guard) => {
      const question = this.question.value;
      if (asking === this.#asking && question) this.question.value = { ...question, guard };
    });
  }

  /** Nothing is signed. */
  cancel(): void {
    if (this.question.value?.isSigning) return;
    this.#asking += 1;
    this.question.value = null;
  }

  /** Signs what was asked; `tags` where it is about tags. */
  async sign(tags: { add: string[]; remove: string[] }, device: string | null): Promise<void> {
    const question = this.question.value;
    if (!question || question.isSigning) return;
    const { act, snapshots } = question;
    const ids = (act === "forget" ? forgettable(snapshots) : snapshots).map(({ id }) => id);
    const wish: Wish = act === "tag" ? { do: act, snapshots: ids, ...tags } : { do: act, snapshots: ids };
    this.question.value = { ...question, isSigning: true, problem: null };
    this.#asking += 1;
    const asking = this.#asking;
    try {
      const { state, unchanged } = await this.#core.changeSnapshots(wish, device);
      if (asking !== this.#asking) return;
      this.question.value = null;
      this.outcome.value = { act, state, changed: ids.length - unchanged.length, unchanged: unchanged.length };
      if (this.forgotten.value) void ask(this.#core.forgotten(), (asked) => { if (asking === this.#asking) this.forgotten.value = asked; });
    } catch (thrown) {
      if (asking === this.#asking) this.question.value = { ...question, isSigning: false, problem: problemOf(thrown) };
    }
  }

  /** What a page that locks must let go of. */
  forget(): void {
    this.#asking += 1;
    this.forgotten.value = null;
    this.question.value = null;
    this.outcome.value = null;
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
