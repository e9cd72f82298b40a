/** Following: the newest of several runs. Those before it are cancelled, and are not heard any more. */

import type { Problem, Run } from "../core/api";
import { problemOf } from "../core/problem";

export interface Heard<Progress, Result> {
  progress: (progress: Progress) => void;
  done: (result: Result) => void;
  failed: (problem: Problem) => void;
}

export class Following<Progress, Result> {
  #turn = 0;
  #run: Run<Progress, Result> | null = null;

  /** Follows what is begun, and lets go of the run before. */
  async follow(begin: () => Promise<Run<Progress, Result>>, heard: Heard<Progress, Result>): Promise<void> {
    this.stop();
    const turn = this.#turn;
    const isNewest = () => turn === this.#turn;
    try {
      const run = await begin();
      if (!isNewest()) {
        run.done.catch(() => undefined);
        run.cancel();
        return;
      }
      this.#run = run;
      run.onProgress((progress) => { if (isNewest()) heard.progress(progress); });
      const result = await run.done;
      if (isNewest()) heard.done(result);
    } catch (thrown) {
      if (isNewest()) heard.failed(problemOf(thrown));
    }
  }

  stop(): void {
    this.#turn += 1;
    this.#run?.cancel();
    this.#run = null;
  }
}
