/** Jobs: downloads and restores that run while one goes on looking around. */

import { signal } from "@preact/signals";
import type { Problem, RestoreProgress, RestoreResult, Run } from "../core/api";
import { problemOf } from "../core/problem";

export interface Job {
  id: number;
  /** "report.pdf", "12 items". */
  title: string;
  /** A file or zip that is saved, or files written into a directory. */
  kind: "download" | "into";
  asked: "go" | "pause" | "cancel";
  progress: RestoreProgress | null;
  end: { at: "done"; result: RestoreResult } | { at: "ended"; problem: Problem } | null;
}

export class Jobs {
  readonly jobs = signal<readonly Job[]>([]);
  readonly #runs = new Map<number, Run<RestoreProgress, RestoreResult>>();
  #last = 0;

  /** Follows a run to its end; null means that the person chose nowhere to put it. */
  async add(title: string, kind: Job["kind"], starting: Promise<Run<RestoreProgress, RestoreResult> | null>): Promise<void> {
    this.#last += 1;
    const id = this.#last;
    let began = false;
    try {
      const run = await starting;
      if (!run) return;
      began = true;
      this.#runs.set(id, run);
      this.jobs.value = [...this.jobs.value, { id, title, kind, asked: "go", progress: null, end: null }];
      const stop = run.onProgress((progress) => this.#change(id, { progress }));
      try {
        const result = await run.done;
        this.#change(id, { end: { at: "done", result } });
      } finally {
        stop();
      }
    } catch (thrown) {
      const problem = problemOf(thrown);
      // What began and is not here any more was forgotten, and stays so.
      if (!began) {
        if (problem.code === "cancelled") return;
        this.jobs.value = [...this.jobs.value, { id, title, kind, asked: "go", progress: null, end: null }];
      }
      this.#change(id, { end: { at: "ended", problem } });
    } finally {
      this.#runs.delete(id);
    }
  }

  ask(id: number, what: Job["asked"]): void {
    const run = this.#runs.get(id);
    if (!run) return;
    this.#change(id, { asked: what });
    if (what === "go") run.resume();
    if (what === "pause") run.pause();
    if (what === "cancel") run.cancel();
  }

  /** Takes away what has ended. */
  dismiss(id: number): void {
    this.jobs.value = this.jobs.value.filter((job) => job.id !== id || job.end === null);
  }

  forget(): void {
    this.jobs.value = [];
  }

  #change(id: number, change: Partial<Job>): void {
    this.jobs.value = this.jobs.value.map((job) => (job.id === id ? { ...job, ...change } : job));
  }
}
