/** Upkeep: a job that is ordered is followed to its end, and a refusal is said. */

import { expect, test, vi } from "vitest";
import type { Core, Service } from "../../src/core/api";
import { Upkeep } from "../../src/app/upkeep";
import { failure } from "../../src/core/problem";
import { scripted, SERVICE } from "./harness/scripted";

const running = (isRunning: boolean): Service => ({ ...SERVICE, jobs: SERVICE.jobs!.map((one) => (one.job === "check" ? { ...one, isRunning } : one)) });

function upkeep(other: Partial<Core>) {
  const state = { started: 0, ended: 0 };
  return { state, started: () => { state.started += 1; }, upkeep: new Upkeep(scripted(other), async () => { state.ended += 1; }, async () => undefined) };
}

test("a job is ordered once and followed until it ends", async () => {
  const ordered: string[] = [];
  let looks = 0;
  const { state, started, upkeep: one } = upkeep({ orderJob: async (job) => void ordered.push(job), service: async () => running(ordered.length > 0 && looks++ < 3) });
  await Promise.all([one.order("check", started), one.order("check", started)]);
  expect([ordered, state, one.ordered.value]).toEqual([["check"], { started: 1, ended: 1 }, null]);
  expect(looks).toBeGreaterThan(3);
});

test("of a job that has ended before the service is asked for it, the end is told too", async () => {
  const { state, started, upkeep: one } = upkeep({ orderJob: async () => undefined, service: async () => running(false) });
  await one.order("check", started);
  expect(state).toEqual({ started: 1, ended: 1 });
});

test("a job that is ordered while the page asks about another one is followed, too", async () => {
  const answers: ((service: Service) => void)[] = [];
  const asked = (times: number) => vi.waitFor(() => expect(answers.length).toBe(times));
  const { state, started, upkeep: one } = upkeep({ orderJob: async () => undefined, service: () => new Promise((resolve) => answers.push(resolve)) });
  const loading = one.load();
  answers[0]!({ ...SERVICE, jobs: SERVICE.jobs!.map((job) => ({ ...job, isRunning: job.job === "prune" })) });
  await asked(2);
  const ordering = one.order("check", started);
  await asked(3);
  // The answer from before the order, then one from after the end of both.
  answers[1]!(running(false));
  answers[2]!(running(false));
  await asked(4);
  answers[3]!(running(false));
  await Promise.all([loading, ordering]);
  expect(state).toEqual({ started: 1, ended: 2 });
});

test("a refusal is said, and not where the job that was wanted runs anyway", async () => {
  const refused = upkeep({ orderJob: async () => { throw failure("job-rested"); } });
  await refused.upkeep.order("check", refused.started);
  expect(refused.upkeep.ordered.value).toMatchObject({ job: "check", problem: { code: "job-rested" } });
  expect(refused.state.started).toBe(0);
  // As if the answer to the order had been lost.
  let looks = 0;
  const lost = upkeep({ orderJob: async () => { throw failure("job-running"); }, service: async () => running(looks++ < 2) });
  await lost.upkeep.order("check", lost.started);
  expect([lost.upkeep.ordered.value, lost.state.ended]).toEqual([null, 1]);
});

test("while a job runs, a server that is away for a moment takes nothing away", async () => {
  let looks = 0;
  const { state, upkeep: one } = upkeep({ service: async () => { looks += 1; if (looks === 2) throw failure("server-gone"); return running(looks < 4); } });
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

test("after a lock a job is followed anew", async () => {
  const pauses: (() => void)[] = [];
  let ended = 0;
  let isRunning = true;
  const one = new Upkeep(scripted({ service: async () => running(isRunning) }), async () => { ended += 1; }, () => new Promise<void>((resolve) => pauses.push(resolve)));
  void one.load();
  await vi.waitFor(() => expect(pauses.length).toBe(1));
  one.forget();
  const again = one.load();
  await vi.waitFor(() => expect(pauses.length).toBe(2));
  isRunning = false;
  for (const go of pauses) go();
  await again;
  expect(ended).toBe(1);
});
