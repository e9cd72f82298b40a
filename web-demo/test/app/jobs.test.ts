import { afterEach, describe, expect, test, vi } from "vitest";
import { Jobs } from "../../src/app/jobs";
import { leftOutWords, listed } from "../../src/app/plain";
import { failure, problem } from "../../src/core/problem";
import type { RestoreProgress, RestoreResult } from "../../src/core/api";
import { NOTHING_LEFT_OUT, RESTORED, RESTORING, scriptedRun } from "./harness/scripted";

const run = (end: RestoreResult | Error | null) => Promise.resolve(scriptedRun<RestoreProgress, RestoreResult>(RESTORING, end));
const settled = () => new Promise((done) => setTimeout(done));

afterEach(() => { vi.useRealTimers(); });

const DAMAGED: RestoreResult = { ...RESTORED, damaged: [{ path: "a", problem: problem("damaged", "a") }] };
const titles = (jobs: Jobs) => jobs.jobs.value.map(({ title }) => title);

/** One that is done, one that was stopped, one with damage, one that failed, and one that runs. */
async function various(): Promise<Jobs> {
  const jobs = new Jobs();
  await jobs.add("done", "download", run(RESTORED));
  await jobs.add("stopped", "download", run(failure("cancelled")));
  await jobs.add("damaged", "download", run(DAMAGED));
  await jobs.add("not all written", "into", run({ ...RESTORED, skipped: [{ path: "a", why: "exists" }] }));
  await jobs.add("failed", "download", run(failure("browser-full")));
  void jobs.add("running", "download", run(null));
  await Promise.resolve();
  return jobs;
}

describe("jobs", () => {
  test("that ended without trouble are cleared at once, and only those", async () => {
    const jobs = await various();
    jobs.clear();
    expect(titles(jobs)).toEqual(["damaged", "not all written", "failed", "running"]);
  });
  test("that ended without trouble leave by themselves once they were seen, and only those", async () => {
    vi.useFakeTimers();
    const jobs = await various();
    vi.advanceTimersByTime(3_600_000);
    expect(titles(jobs).length).toBe(6);
    jobs.see();
    vi.advanceTimersByTime(59_000);
    expect(titles(jobs).length).toBe(6);
    vi.advanceTimersByTime(1_000);
    expect(titles(jobs)).toEqual(["damaged", "not all written", "failed", "running"]);
  });
});

describe("a download", () => {
  test("is shown from its start to its end, and until it is dismissed", async () => {
    const jobs = new Jobs();
    await jobs.add("album.zip", "download", run(RESTORED));
    expect(jobs.jobs.value).toMatchObject([{ title: "album.zip", progress: RESTORING, end: { at: "done", result: RESTORED } }]);
    jobs.dismiss(jobs.jobs.value[0]!.id);
    expect(jobs.jobs.value).toEqual([]);
  });
  test("that nobody gave a place to is not shown", async () => {
    const jobs = new Jobs();
    await jobs.add("album", "into", Promise.resolve(null));
    await jobs.add("album", "download", Promise.reject(failure("cancelled")));
    expect(jobs.jobs.value).toEqual([]);
  });
  test("that could not begin says why", async () => {
    const jobs = new Jobs();
    await jobs.add("album", "into", Promise.reject(failure("target-failed")));
    expect(jobs.jobs.value).toMatchObject([{ end: { at: "ended", problem: { code: "target-failed" } } }]);
  });
  test("that a lock ended does not come back with its name", async () => {
    const jobs = new Jobs();
    const running = scriptedRun<RestoreProgress, RestoreResult>(RESTORING, null);
    const end = jobs.add("secret plans.pdf", "download", Promise.resolve(running));
    await settled();
    jobs.forget();
    running.cancel();
    await end;
    expect(jobs.jobs.value).toEqual([]);
  });
  test("cannot be dismissed while it runs, but stopped", async () => {
    const jobs = new Jobs();
    const end = jobs.add("album", "download", run(null));
    await settled();
    const id = jobs.jobs.value[0]!.id;
    jobs.dismiss(id);
    expect(jobs.jobs.value.length).toBe(1);
    jobs.ask(id, "pause");
    expect(jobs.jobs.value[0]).toMatchObject({ asked: "pause", progress: { state: "paused" } });
    jobs.ask(id, "cancel");
    await end;
    expect(jobs.jobs.value[0]).toMatchObject({ end: { at: "ended", problem: { code: "cancelled" } } });
  });
});

describe("plain words", () => {
  test("join as people do", () => expect([listed([]), listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])]).toEqual(["", "a", "a and b", "a, b and c"]));
  test("say nothing where nothing was left out", () => expect(leftOutWords(NOTHING_LEFT_OUT)).toBe(""));
  test("count what was left out by reason", () => {
    expect(leftOutWords({ ...NOTHING_LEFT_OUT, unreadable: 1, changing: 2, excluded: 1200 })).toBe("1 file could not be read, 2 files kept changing and were saved as last read and 1,200 left out by your patterns.");
  });
});

describe("a restore into a folder that has some of it", () => {
  const found = { folder: "Documents", names: ["a"] };
  test("waits for what the person says", async () => {
    const jobs = new Jobs();
    const decided = jobs.decide(found);
    expect(jobs.question.value?.found).toEqual(found);
    jobs.question.value?.answer("both");
    expect(await decided).toBe("both");
    expect(jobs.question.value).toBeNull();
  });
  test("does not begin if the page is locked or another restore asks", async () => {
    const jobs = new Jobs();
    const [first, second] = [jobs.decide(found), jobs.decide({ ...found, names: ["b"] })];
    expect(await first).toBeNull();
    jobs.forget();
    expect(await second).toBeNull();
    expect(jobs.question.value).toBeNull();
  });
});
