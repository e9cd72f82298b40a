/** Upkeep: the jobs that run beside the store, and the one that a person has ordered. */

import { signal } from "@preact/signals";
import type { Core, OrderedJob, Problem, ScheduledJob, Service } from "../core/api";
import { problemOf } from "../core/problem";
import { ask, type Asked } from "./asked";

export class Upkeep {
  readonly service = signal<Asked<Service>>({ at: "asking" });
  /** The last order that is not answered yet, or was refused. */
  readonly ordered = signal<{ job: OrderedJob; problem: Problem | null } | null>(null);
  readonly #core: Core;
  readonly #pause: () => Promise<unknown>;
  /** Called once a job that was followed has ended. */
  readonly #ended: () => Promise<unknown>;
  #turn = 0;
  #isFollowing = false;
  /** The jobs whose end is awaited. */
  #followed: ScheduledJob["job"][] = [];

  constructor(core: Core, ended: () => Promise<unknown>, pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, AGAIN))) {
    this.#core = core;
    this.#ended = ended;
    this.#pause = pause;
  }

  /** Asks anew, and follows what runs. */
  async load(): Promise<void> {
    const turn = this.#turn;
    let before = this.#followed;
    await this.#ask();
    if (this.#isFollowing || turn !== this.#turn) return;
    this.#isFollowing = true;
    try {
      for (;;) {
        const running = this.#running;
        // The answer does not tell of a job that was ordered after the page had asked.
        this.#followed = [...running, ...this.#followed.filter((job) => !before.includes(job))];
        if (before.some((job) => !running.includes(job))) await this.#ended();
        if (turn !== this.#turn || this.#followed.length === 0) return;
        await this.#pause();
        if (turn !== this.#turn) return;
        before = this.#followed;
        await this.#ask();
        if (turn !== this.#turn) return;
      }
    } finally {
      // After a lock another one follows.
      if (turn === this.#turn) this.#isFollowing = false;
    }
  }

  /** Says when the service has taken the order. */
  async order(job: OrderedJob, started: () => void): Promise<void> {
    if (this.ordered.value?.problem === null) return;
    this.ordered.value = { job, problem: null };
    const turn = this.#turn;
    try {
      await this.#core.orderJob(job);
      if (turn !== this.#turn) return;
      this.ordered.value = null;
      // It runs from the order on, and may have ended before the service is asked for it.
      this.#followed = [...this.#followed, job];
      started();
    } catch (thrown) {
      if (turn !== this.#turn) return;
      await this.#ask();
      // The answer to an order may be lost on the way, and the page orders again: what was wanted runs.
      this.ordered.value = this.#running.includes(job) ? null : { job, problem: problemOf(thrown) };
    }
    await this.load();
  }

  /** What a page that locks must let go of. */
  forget(): void {
    this.#turn += 1;
    this.#isFollowing = false;
    this.#followed = [];
    this.service.value = { at: "asking" };
    this.ordered.value = null;
  }

  get #running(): ScheduledJob["job"][] {
    const { value } = this.service;
    return value.at === "here" ? (value.value.jobs ?? []).filter(({ isRunning }) => isRunning).map(({ job }) => job) : [];
  }

  async #ask(): Promise<void> {
    const turn = this.#turn;
    await ask(this.#core.service(), (asked) => {
      // A server that is away for a moment does not take away what is shown.
      const isWorse = asked.at === "failed" && this.service.value.at === "here";
      if (turn === this.#turn && !isWorse) this.service.value = asked;
    });
  }
}

/** Milliseconds between two looks at a job that runs. */
const AGAIN = 2_000;
