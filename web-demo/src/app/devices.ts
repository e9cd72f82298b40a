/** Devices: the clients of the repository, and what the owner signs about them. */

import { signal } from "@preact/signals";
import type { Core, Device, LastGood, Problem } from "../core/api";
import { problemOf } from "../core/problem";
import { ask, type Asked } from "./asked";

/** What is asked before anything is signed. */
export interface Question {
  about: "rename" | "revoke";
  device: Device;
  /** What a revocation names. */
  good: Asked<LastGood | null> | null;
  isSigning: boolean;
  problem: Problem | null;
}

export class Devices {
  readonly list = signal<Asked<Device[]>>({ at: "asking" });
  readonly question = signal<Question | null>(null);
  readonly #core: Core;
  /** Answers that come after a lock, or after another question, are dropped. */
  #asking = 0;

  constructor(core: Core) {
    this.#core = core;
  }

  async load(): Promise<void> {
    if (this.list.value.at === "failed") this.list.value = { at: "asking" };
    const asking = this.#asking;
    await ask(this.#core.devices(), (asked) => { if (asking === this.#asking) this.list.value = asked; });
  }

  async begin(about: Question["about"], device: Device): Promise<void> {
    this.#asking += 1;
    const asking = this.#asking;
    this.question.value = { about, device, good: about === "revoke" ? { at: "asking" } : null, isSigning: false, problem: null };
    if (about !== "revoke") return;
    await ask(this.#core.lastGood(device.client), (good) => {
      const question = this.question.value;
      if (asking === this.#asking && question) this.question.value = { ...question, good };
    });
  }

  /** Nothing is signed. */
  cancel(): void {
    if (this.question.value?.isSigning) return;
    this.#asking += 1;
    this.question.value = null;
  }

  /** Signs what was asked, as it was shown; tells whether that was done. */
  async sign(name: string): Promise<boolean> {
    const question = this.question.value;
    if (!question || question.isSigning) return false;
    const { about, device, good } = question;
    if (about === "revoke" && good?.at !== "here") return false;
    this.question.value = { ...question, isSigning: true, problem: null };
    this.#asking += 1;
    const asking = this.#asking;
    try {
      if (about === "rename") await this.#core.renameDevice(device.client, name);
      else await this.#core.revokeDevice(device.client, good?.at === "here" ? good.value : null);
      if (asking !== this.#asking) return false;
      this.question.value = null;
      await this.load();
      return true;
    } catch (thrown) {
      if (asking === this.#asking) this.question.value = { ...question, isSigning: false, problem: problemOf(thrown) };
      return false;
    }
  }

  /** What a page that locks must let go of. */
  forget(): void {
    this.#asking += 1;
    this.list.value = { at: "asking" };
    this.question.value = null;
  }
}
