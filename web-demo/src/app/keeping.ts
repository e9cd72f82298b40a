/** Keeping: the rules in force, others that a person thinks of, and what became of signing them. Made by the screen that shows it. */

import { signal } from "@preact/signals";
import type { Core, Foresight, Kept, Plan, Problem } from "../core/api";
import { problemOf } from "../core/problem";
import { kept as words } from "../words/kept";
import { ask, type Asked } from "./asked";
import { say } from "./parts/say";

/** What a person looks at before anything is signed. */
export interface Forecast {
  plan: Plan;
  foresight: Asked<Foresight>;
  /** The question whether it is to be signed stands on the page. */
  isAsked: boolean;
  isSigning: boolean;
  problem: Problem | null;
}

/** What became of a signature; waiting: the server has not taken it in yet. */
export type Outcome = "waiting" | "set" | "released";

export class Keeping {
  readonly kept = signal<Asked<Kept>>({ at: "asking" });
  readonly forecast = signal<Forecast | null>(null);
  readonly outcome = signal<Outcome | null>(null);
  readonly #core: Core;
  /** Answers that come after another question, or after the screen was left, are dropped. */
  #asking = 0;

  constructor(core: Core) {
    this.#core = core;
  }

  async load(): Promise<void> {
    const asking = (this.#asking += 1);
    if (this.kept.value.at === "failed") this.kept.value = { at: "asking" };
    await ask(this.#core.administer("kept"), (asked) => { if (asking === this.#asking) this.kept.value = asked; });
  }

  /** Shows what would become of the snapshots. A release is asked at once. */
  async foresee(plan: Plan): Promise<void> {
    const asking = (this.#asking += 1);
    this.outcome.value = null;
    this.forecast.value = { plan, foresight: { at: "asking" }, isAsked: "release" in plan, isSigning: false, problem: null };
    await ask(this.#core.administer("foresee", plan), (foresight) => {
      const forecast = this.forecast.value;
      if (asking === this.#asking && forecast) this.forecast.value = { ...forecast, foresight };
    });
    const foresight = this.forecast.value?.foresight;
    if (asking === this.#asking && foresight?.at === "failed" && foresight.problem.code === "policy-changed") await this.load();
  }

  /** Asks whether it is to be signed, or takes the question back. */
  askToSign(isAsked: boolean): void {
    const forecast = this.forecast.value;
    if (!forecast || forecast.isSigning) return;
    if (!isAsked && "release" in forecast.plan) this.drop();
    else this.forecast.value = { ...forecast, isAsked, problem: null };
  }

  /** What was foreseen is not meant any more. */
  drop(): void {
    if (this.forecast.value?.isSigning) return;
    this.#asking += 1;
    this.forecast.value = null;
  }

  /** Signs what was foreseen, as it was shown. */
  async sign(device: string | null): Promise<void> {
    const forecast = this.forecast.value;
    if (!forecast?.isAsked || forecast.isSigning || forecast.foresight.at !== "here") return;
    const asking = (this.#asking += 1);
    this.forecast.value = { ...forecast, isSigning: true, problem: null };
    try {
      const { state } = await this.#core.administer("decide", forecast.foresight.value.decision, device);
      if (asking !== this.#asking) return;
      this.forecast.value = null;
      this.outcome.value = state === "waiting" ? "waiting" : "release" in forecast.plan ? "released" : "set";
      say(words.outcomes[this.outcome.value].title);
      await this.load();
    } catch (thrown) {
      if (asking !== this.#asking) return;
      const problem = problemOf(thrown);
      if (problem.code !== "policy-changed") {
        this.forecast.value = { ...forecast, isSigning: false, problem };
        return;
      }
      // The list that the person has seen is wrong by now: the rules are read anew, a release is begun anew in the list.
      this.forecast.value = { ...forecast, foresight: { at: "failed", problem }, isAsked: "release" in forecast.plan, problem: null };
      await this.load();
    }
  }

  /** Nobody looks at it any more. */
  leave(): void {
    this.#asking += 1;
  }
}
