/** Signing: something is asked, then signed once, as it was asked. A failure stays in the question. */

import { signal } from "@preact/signals";
import type { Core, Problem } from "../core/api";
import { ask, type Asked } from "./asked";

/** What is asked before anything is signed. */
export type Unsigned<About> = About & { isSigning: boolean; problem: Problem | null };

export class Signing<About extends object> {
  readonly question = signal<Unsigned<About> | null>(null);
  /** Answers that come after a lock, or after another question, are dropped. */
  #turn = 0;

  constructor(protected readonly core: Core) {}

  /** Drops the answers that are still on their way. */
  dropAnswers(): void {
    this.#turn += 1;
  }

  /** Nothing is signed. */
  cancel(): void {
    if (!this.question.value?.isSigning) this.put(null);
  }

  /** Puts another question, or none. */
  protected put(about: About | null): void {
    this.dropAnswers();
    this.question.value = about && { ...about, isSigning: false, problem: null };
  }

  /** Adds to the question what came in for it. */
  protected add(more: Partial<About>): void {
    if (this.question.value) this.question.value = { ...this.question.value, ...more };
  }

  /** Waits for an answer, and gives it to `set` unless it is to be dropped by then. */
  protected async hear<Value>(answer: Promise<Value>, set: (asked: Asked<Value>) => void): Promise<void> {
    const turn = this.#turn;
    await ask(answer, (asked) => { if (turn === this.#turn) set(asked); });
  }

  /** Signs what is asked, unless that is under way; tells whether it was done. */
  protected async signOnce<Value>(sign: () => Promise<Value>, done?: (value: Value) => void): Promise<boolean> {
    const question = this.question.value;
    if (!question || question.isSigning) return false;
    this.dropAnswers();
    this.question.value = { ...question, isSigning: true, problem: null };
    const signed: Value[] = [];
    await this.hear(sign(), (asked) => {
      if (asked.at === "failed") this.fail(question, asked.problem);
      if (asked.at !== "here") return;
      this.question.value = null;
      signed.push(asked.value);
    });
    // Not within the answer: a mistake there would count as a failure to sign.
    for (const value of signed) done?.(value);
    return signed.length > 0;
  }

  protected fail(question: Unsigned<About>, problem: Problem): void {
    this.question.value = { ...question, isSigning: false, problem };
  }
}
