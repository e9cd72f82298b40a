/** Keeping: the rules in force, others that a person thinks of, and what became of signing them. Made by the screen that shows it. */

import { signal } from "@preact/signals";
import type { Foresight, Kept, Plan, Problem } from "../core/api";
import { kept as words } from "../words/kept";
import type { Asked } from "./asked";
import { say } from "./parts/say";
import { Signing, type Unsigned } from "./signing";

interface About {
  plan: Plan;
  foresight: Asked<Foresight>;
  /** The question whether it is to be signed stands on the page. */
  isAsked: boolean;
}

/** What a person looks at before anything is signed. */
export type Forecast = Unsigned<About>;

/** What became of a signature; waiting: the server has not taken it in yet. */
export type Outcome = "waiting" | "set" | "released";

export class Keeping extends Signing<About> {
  readonly kept = signal<Asked<Kept>>({ at: "asking" });
  readonly forecast = this.question;
  readonly outcome = signal<Outcome | null>(null);

  async load(): Promise<void> {
    this.dropAnswers();
    if (this.kept.value.at === "failed") this.kept.value = { at: "asking" };
    await this.hear(this.core.administer("kept"), (asked) => { this.kept.value = asked; });
  }

  /** Shows what would become of the snapshots. A release is asked at once. */
  async foresee(plan: Plan): Promise<void> {
    this.outcome.value = null;
    this.put({ plan, foresight: { at: "asking" }, isAsked: "release" in plan });
    await this.hear(this.core.administer("foresee", plan), (foresight) => {
      this.add({ foresight });
      if (foresight.at === "failed" && foresight.problem.code === "policy-changed") void this.load();
    });
  }

  /** Asks whether it is to be signed, or takes the question back. */
  askToSign(isAsked: boolean): void {
    const forecast = this.forecast.value;
    if (!forecast || forecast.isSigning) return;
    if (!isAsked && "release" in forecast.plan) this.cancel();
    else this.forecast.value = { ...forecast, isAsked, problem: null };
  }

  /** Signs what was foreseen, as it was shown. */
  async sign(device: string | null): Promise<void> {
    const forecast = this.forecast.value;
    if (!forecast?.isAsked || forecast.foresight.at !== "here") return;
    const { plan, foresight: { value: { decision } } } = forecast;
    const isDone = await this.signOnce(() => this.core.administer("decide", decision, device), ({ state }) => {
      this.outcome.value = state === "waiting" ? "waiting" : "release" in plan ? "released" : "set";
      say(words.outcomes[this.outcome.value].title);
    });
    if (isDone) await this.load();
  }

  /** If the rules have changed, the list that the person has seen is wrong: the rules are read anew, a release is begun anew in the list. */
  protected override fail(forecast: Forecast, problem: Problem): void {
    if (problem.code !== "policy-changed") return super.fail(forecast, problem);
    this.put({ ...forecast, foresight: { at: "failed", problem }, isAsked: "release" in forecast.plan });
    void this.load();
  }
}
