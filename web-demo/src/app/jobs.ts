/** Jobs: downloads and restores that run while one goes on looking around. */

import { signal } from "@preact/signals";
import type { Found, OntoExisting, Problem, RestoreProgress, RestoreResult, Run } from "../core/api";
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

/** A restore waits for the person to say what becomes of what is there. */
export interface Question {
  found: Found;
  answer: (choice: OntoExisting | null) => void;
}

export class Jobs {
  readonly jobs = signal<readonly Job[]>([]);
  readonly question = signal<Question | null>(null);
  /** Those that the person has seen to be done, and that leave after a while. */
  readonly #leaving = new Set<number>();
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

  /** Asks the person; null: they changed their mind. */
  readonly decide = (found: Found): Promise<OntoExisting | null> =>
    new Promise((resolve) => {
      const answer = (choice: OntoExisting | null) => {
        this.question.value = null;
        resolve(choice);
      };
      this.question.value?.answer(null);
      this.question.value = { found, answer };
    });

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

  /** Takes away what has ended without trouble. */
  clear(): void {
    this.jobs.value = this.jobs.value.filter((job) => !isQuiet(job));
  }

  /** The person has the jobs before their eyes: what has ended without trouble leaves after a while. */
  see(): void {
    for (const { id } of this.jobs.value.filter((job) => isQuiet(job) && !this.#leaving.has(job.id))) {
      this.#leaving.add(id);
      setTimeout(() => this.dismiss(id), LEAVES_AFTER);
    }
  }

  forget(): void {
    this.question.value?.answer(null);
    this.jobs.value = [];
  }

  #change(id: number, change: Partial<Job>): void {
    this.jobs.value = this.jobs.value.map((job) => (job.id === id ? { ...job, ...change } : job));
  }
}

/** Whether a job has ended without trouble: nothing is damaged or left unwritten, or the person stopped it. */
export function isQuiet({ end }: Job): boolean {
  if (end === null) return false;
  return end.at === "done" ? end.result.damaged.length + end.result.skipped.length === 0 : end.problem.code === "cancelled";
}

/** Milliseconds that a job stays which the person has seen to be done. */
const LEAVES_AFTER = 60_000;
