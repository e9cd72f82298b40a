/** Upkeep: a job that is ordered is followed to its end, and a refusal is said. */

import { expect, test } from "vitest";
import type { Core, Service } from "../../src/core/api";
import { Upkeep } from "../../src/app/upkeep";
import { problem } from "../../src/core/problem";
import { failure, scripted, SERVICE } from "./harness/scripted";

const running = (isRunning: boolean): Service => ({ ...SERVICE, jobs: SERVICE.jobs!.map((one) => (one.job === "check" ? { ...one, isRunning } : one)) });

function upkeep(other: Partial<Core>) {
  const state = { ended: 0 };
  return { state, upkeep: new Upkeep(scripted(other), async () => { state.ended += 1; }, async () => undefined) };
}

test("a job is ordered once and followed until it ends", async () => {
  const ordered: string[] = [];
  let looks = 0;
  const { state, upkeep: one } = upkeep({ orderJob: async (job) => void ordered.push(job), service: async () => running(ordered.length > 0 && looks++ < 3) });
  await Promise.all([one.order("check"), one.order("check")]);
  expect([ordered, state.ended, one.ordered.value]).toEqual([["check"], 1, null]);
  expect(looks).toBeGreaterThan(3);
});

test("a refusal is said, and not where the job that was wanted runs anyway", async () => {
  const refused = upkeep({ orderJob: async () => { throw failure(problem("job-rested")); } });
  await refused.upkeep.order("check");
  expect(refused.upkeep.ordered.value).toMatchObject({ job: "check", problem: { code: "job-rested" } });
  // As if the answer to the order had been lost.
  let looks = 0;
  const lost = upkeep({ orderJob: async () => { throw failure(problem("job-running")); }, service: async () => running(looks++ < 2) });
  await lost.upkeep.order("check");
  expect([lost.upkeep.ordered.value, lost.state.ended]).toEqual([null, 1]);
});

test("while a job runs, a server that is away for a moment takes nothing away", async () => {
  let looks = 0;
  const { state, upkeep: one } = upkeep({ service: async () => { looks += 1; if (looks === 2) throw failure(problem("server-gone")); return running(looks < 4); } });
  await one.load();
  expect([one.service.value.at, state.ended]).toEqual(["here", 1]);
});

test("what comes after a lock is dropped", async () => {
  let answer!: (service: Service) => void;
  const { upkeep: one } = upkeep({ service: () => new Promise((resolve) => { answer = resolve; }) });
  const loading = one.load();
  one.forget();
  answer(SERVICE);
  await loading;
  expect(one.service.value.at).toBe("asking");
});
