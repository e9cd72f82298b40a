/** Stages: whether the page can work, is locked or open. What is shown follows from this alone. */

import { signal } from "@preact/signals";
import type { Core, CoreEvent, Environment, LastKnown, MissingFeature, Problem, Session, Unlock } from "../core/api";
import { problemOf } from "../core/problem";

export type Stage =
  | { at: "starting" }
  | { at: "unsupported"; missing: MissingFeature[] }
  | { at: "unreachable"; problem: Problem; asking: boolean }
  | { at: "locked"; environment: Environment; why: LockedBecause; opening: boolean; problem: Problem | null }
  | { at: "open"; environment: Environment; session: Session }
  /** The server is away: there is only the list that it told last. */
  | { at: "offline"; environment: Environment; known: LastKnown };

/** "fresh": the page was just opened, and not loaded anew after a lock. */
export type LockedBecause = "fresh" | "asked" | "idle" | "failed";

export class Staging {
  readonly stage = signal<Stage>({ at: "starting" });
  /** Seconds until it locks, while there is a warning. */
  readonly lockSoon = signal<number | null>(null);
  readonly online = signal(true);
  /** Another tab holds the repository. */
  readonly elsewhere = signal(false);
  readonly #core: Core;
  readonly #why: LockedBecause;
  /** The answer of the server, which unlocking waits for. */
  #asked: Promise<void> = Promise.resolve();

  /** `why`: the reason for which the page was locked before it was loaded anew. */
  constructor(core: Core, why: LockedBecause = "fresh") {
    this.#core = core;
    this.#why = why;
  }

  /** Whether the page may be loaded anew. An enrollment that waits is in this page's memory only: it keeps the page. */
  get locked(): "yes" | "opening" | "no" {
    const stage = this.stage.value;
    if (stage.at !== "locked" || stage.environment.hasEnrollmentLink) return "no";
    return stage.opening ? "opening" : "yes";
  }

  /** Asks what there is, and opens by itself where nothing secret has to be typed. */
  async start(): Promise<void> {
    const before = this.stage.value;
    if (before.at === "unreachable") this.stage.value = { ...before, asking: true };
    this.#asked = this.#ask();
    await this.#asked;
    const stage = this.stage.value;
    if (stage.at === "locked" && this.#why === "fresh" && opensItself(stage.environment)) await this.unlock({ by: "device" });
  }

  async #ask(): Promise<void> {
    try {
      const environment = await this.#core.environment((early) => {
        if (this.stage.value.at === "starting") this.#askSecret(early);
      });
      if (environment.missing.length > 0) {
        this.stage.value = { at: "unsupported", missing: environment.missing };
        return;
      }
      const session = await this.#core.session();
      if (session) this.stage.value = { at: "open", environment, session };
      else if (environment.server.state === "ready" || environment.lastKnown) this.#askSecret(environment);
      else if (environment.server.state !== "asking") this.stage.value = { at: "unreachable", problem: environment.server.problem, asking: false };
    } catch (thrown) {
      this.stage.value = { at: "unreachable", problem: problemOf(thrown), asking: false };
    }
  }

  /** What is typed already stays. */
  #askSecret(environment: Environment): void {
    const stage = this.stage.value;
    this.stage.value = stage.at === "locked" ? { ...stage, environment } : { at: "locked", environment, why: this.#why, opening: false, problem: null };
  }

  /** Opens; the caller has let go of what was typed. */
  async unlock(secret: Unlock): Promise<void> {
    const asked = this.stage.value;
    if (asked.at !== "locked" || asked.opening) return;
    this.stage.value = { ...asked, opening: true, problem: null };
    await this.#asked;
    const before = this.stage.value;
    if (before.at !== "locked") return;
    if (before.environment.lastKnown) return this.#openLastKnown(before, secret);
    try {
      const session = await this.#core.unlock(secret);
      const joined = secret.by === "link" || secret.by === "enrollment";
      const environment: Environment = joined
        ? { ...before.environment, hasEnrollmentLink: false, enrollsAs: null, device: { role: session.role, name: session.deviceName } }
        : before.environment;
      this.stage.value = { at: "open", environment, session };
    } catch (thrown) {
      const problem = problemOf(thrown);
      // The core holds the enrollment: what is missing is asked for as if a link had been opened.
      const waits = problem.code === "passphrase-needed" && before.environment.enrollsAs !== "full";
      const environment: Environment = waits ? { ...before.environment, hasEnrollmentLink: true, enrollsAs: "full" } : before.environment;
      this.stage.value = { ...before, environment, opening: false, problem: waits ? null : problem };
    }
  }

  async #openLastKnown(before: Extract<Stage, { at: "locked" }>, secret: Unlock): Promise<void> {
    try {
      const known = await this.#core.openLastKnown(secret.by === "passphrase" ? secret.passphrase : "");
      this.stage.value = { at: "offline", environment: before.environment, known };
    } catch (thrown) {
      this.stage.value = { ...before, opening: false, problem: problemOf(thrown) };
    }
  }

  /** What this browser is to the repository has changed. */
  async loadSession(): Promise<void> {
    const session = await this.#core.session();
    const stage = this.stage.value;
    if (session && stage.at === "open") this.stage.value = { ...stage, session };
  }

  async lock(): Promise<void> {
    await this.#core.lock();
    this.#locked("asked", null);
  }

  /** Enrollment is put aside, for a passphrase instead. */
  dismissLink(): void {
    const stage = this.stage.value;
    if (stage.at !== "locked") return;
    this.stage.value = { ...stage, environment: { ...stage.environment, hasEnrollmentLink: false, enrollsAs: null }, problem: null };
  }

  clearProblem(): void {
    const stage = this.stage.value;
    if (stage.at === "locked" && stage.problem) this.stage.value = { ...stage, problem: null };
  }

  hear(event: CoreEvent): void {
    switch (event.type) {
      case "locked": return this.#locked(event.reason, event.problem ?? null);
      case "lock-soon": this.lockSoon.value = event.secondsLeft; return;
      case "enrollment": return this.#enrolled(event.enrollsAs);
      case "network": this.online.value = event.online; return;
      case "elsewhere": this.elsewhere.value = event.held; return;
      case "changed": return;
    }
  }

  /** An enrollment waits; who has the page open sees it once it is locked. */
  #enrolled(enrollsAs: Environment["enrollsAs"]): void {
    const stage = this.stage.value;
    if (stage.at !== "locked" && stage.at !== "open") return;
    const environment: Environment = { ...stage.environment, hasEnrollmentLink: true, enrollsAs };
    this.stage.value = stage.at === "locked" ? { ...stage, environment, problem: null } : { ...stage, environment };
  }

  #locked(why: LockedBecause, problem: Problem | null): void {
    this.lockSoon.value = null;
    const stage = this.stage.value;
    if (stage.at === "open" || stage.at === "offline") this.stage.value = { at: "locked", environment: stage.environment, why, opening: false, problem };
  }
}

/** An enrolled write-only device holds all it needs, unless it was opened by a link that makes it another one. */
export function opensItself(environment: Environment): boolean {
  return environment.device.role === "write-only" && !environment.hasEnrollmentLink;
}
