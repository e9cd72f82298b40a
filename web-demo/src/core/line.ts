//! Line: the way to the coordinator. Locking ends the worker with all that it holds, and starts another.

import type { CoreEvent, Run } from "./api";
import { CopalError, failure } from "./problem";
import type { FromCoordinator, ToCoordinator } from "./rpc";

/** A coordinator, as far as the page needs one. */
export interface CoordinatorLike {
  postMessage(message: ToCoordinator, handed?: Transferable[]): void;
  onmessage: ((event: MessageEvent<FromCoordinator>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  terminate(): void;
}

/** Asks the coordinator, and hears what becomes of runs. */
export class Line {
  #worker: CoordinatorLike;
  #asked = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #runs = new Map<number, Ongoing>();
  #next = 1;
  #hasSpoken = false;
  /** It could not even be loaded; whoever asks next has another one loaded. */
  #isDead = false;

  constructor(
    private readonly spawn: () => CoordinatorLike,
    private readonly event: (event: CoreEvent) => void,
  ) {
    this.#worker = this.#start();
  }

  ask<T>(method: string, ...args: unknown[]): Promise<T> {
    return this.#ask(method, [], args);
  }

  #ask<T>(method: string, handed: Transferable[], args: unknown[]): Promise<T> {
    if (this.#isDead) this.restart();
    const id = this.#next++;
    return new Promise<T>((resolve, reject) => {
      this.#asked.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#worker.postMessage({ type: "call", id, method, args }, handed);
    });
  }

  /** Asks for something that takes time; what is `handed` over with it is not the page's any more. */
  async begin<P, R>(method: string, handed: Transferable[], ...args: unknown[]): Promise<Run<P, R>> {
    const run = await this.#ask<Ongoing>(method, handed, args);
    return run as unknown as Run<P, R>;
  }

  get isBusy(): boolean {
    return this.#runs.size > 0;
  }

  /** Ends the coordinator, and everything secret with it. */
  restart(): void {
    this.#worker.terminate();
    this.#fail(failure("locked"));
    [this.#hasSpoken, this.#isDead] = [false, false];
    this.#worker = this.#start();
  }

  #start(): CoordinatorLike {
    const worker = this.spawn();
    worker.onmessage = ({ data }) => this.#hear(data);
    worker.onerror = () => this.#broken();
    return worker;
  }

  /** Another one is started; but not again and again, if none of them ever says a word. */
  #broken(): void {
    const problem = failure(this.#hasSpoken ? "internal" : "server-gone");
    this.#fail(problem);
    if (this.#hasSpoken) this.restart();
    else this.#isDead = true;
    this.event({ type: "locked", reason: "failed", problem: problem.problem });
  }

  #hear(message: FromCoordinator): void {
    this.#hasSpoken = true;
    switch (message.type) {
      case "answer":
        this.#take(message.id)?.resolve(message.value);
        return;
      case "refusal":
        this.#take(message.id)?.reject(new CopalError(message.problem));
        return;
      case "begun": {
        const { run } = message;
        const ongoing = new Ongoing((control) => this.#worker.postMessage({ type: "control", run, control }));
        this.#runs.set(run, ongoing);
        this.#take(message.id)?.resolve(ongoing);
        return;
      }
      case "progress":
        this.#runs.get(message.run)?.tell(message.progress);
        return;
      case "ended":
        this.#runs.get(message.run)?.end(message.result);
        this.#runs.delete(message.run);
        return;
      case "failed":
        this.#runs.get(message.run)?.fail(new CopalError(message.problem));
        this.#runs.delete(message.run);
        return;
      case "event":
        this.event(message.event);
        return;
    }
  }

  #take(id: number) {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    return asked;
  }

  #fail(error: CopalError): void {
    for (const { reject } of this.#asked.values()) reject(error);
    for (const run of this.#runs.values()) run.fail(error);
    this.#asked.clear();
    this.#runs.clear();
  }
}

/** A run on the coordinator's side. */
class Ongoing implements Run<unknown, unknown> {
  readonly done: Promise<unknown>;
  #listeners = new Set<(progress: unknown) => void>();
  #newest: { progress: unknown } | null = null;
  #settle!: { resolve: (result: unknown) => void; reject: (error: Error) => void };

  constructor(private readonly steer: (control: "pause" | "resume" | "cancel") => void) {
    this.done = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    // Whoever looks only at progress must not be told of it twice.
    this.done.catch(() => {});
  }

  onProgress(listener: (progress: unknown) => void): () => void {
    this.#listeners.add(listener);
    if (this.#newest) listener(this.#newest.progress);
    return () => this.#listeners.delete(listener);
  }

  pause(): void {
    this.steer("pause");
  }

  resume(): void {
    this.steer("resume");
  }

  cancel(): void {
    this.steer("cancel");
  }

  tell(progress: unknown): void {
    this.#newest = { progress };
    for (const listener of this.#listeners) listener(progress);
  }

  end(result: unknown): void {
    this.#settle.resolve(result);
  }

  fail(error: Error): void {
    this.#settle.reject(error);
  }
}
