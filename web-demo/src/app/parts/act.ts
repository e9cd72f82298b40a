/** Act: what a button does, once at a time. A problem is kept until the next try. */

import { useSignal } from "@preact/signals";
import type { Problem } from "../../core/api";
import { problemOf } from "../../core/problem";

export function useAct() {
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const act = async (work: () => Promise<void>): Promise<void> => {
    if (isBusy.value) return;
    [isBusy.value, problem.value] = [true, null];
    await work().catch((thrown) => { problem.value = problemOf(thrown); });
    isBusy.value = false;
  };
  return { isBusy, problem, act };
}
