import { expect, test } from "vitest";
import type { Backing } from "../../src/app/backing";
import { Telling } from "../../src/app/telling";
import { problem } from "../../src/core/problem";
import { problems } from "../../src/words/problems";
import { RESULT } from "./harness/scripted";

const options = { folder: "f", label: "Photos\u202e", excludes: [], remember: false };
const RUNNING: Backing = { at: "running", options, progress: null, asked: "go" };
const DONE: Backing = { at: "done", options, result: RESULT, blindTo: [], opensAnew: true };
const FAILED: Backing = { at: "ended", options, problem: problem("offline"), progress: null };

/** What is shown of these states, one after another. */
function told(states: Backing[], { isWanted = true, isLookedAt = false, isAllowed = true } = {}): string[] {
  const shown: string[] = [];
  const telling = new Telling({ isLookedAt: () => isLookedAt, isAllowed: () => isAllowed, show: (title, body) => void shown.push(`${title}|${body}`) });
  for (const state of states) telling.hear(state, isWanted);
  return shown;
}

test("the end of a backup is told once, and why it failed, with nothing in a name that could turn the text around", () => {
  expect(told([RUNNING, RUNNING, DONE, DONE])).toHaveLength(1);
  expect(told([RUNNING, DONE])[0]).toMatch(/^Photos.* is backed up\|$/);
  expect(told([RUNNING, DONE])[0]).not.toContain("\u202e");
  expect(told([RUNNING, FAILED])[0]).toBe(`${told([RUNNING, DONE])[0]!.split(" is ")[0]} is not backed up|${problems.offline.title}`);
});

test("what was not saved as it is is told in numbers, without a name", () => {
  const leftOut = { ...RESULT.leftOut, unreadable: 1, changing: 2, examples: [{ path: "secret.txt", why: "unreadable" as const, detail: null }] };
  expect(told([RUNNING, { ...DONE, result: { ...RESULT, leftOut } }])[0]).toMatch(/backed up\|1 file could not be read and 2 files kept changing and were saved as last read\.$/);
});

test("nothing is told of what the person sees, has stopped, did not ask for, or the browser forbids", () => {
  expect(told([RUNNING, DONE], { isLookedAt: true })).toEqual([]);
  expect(told([RUNNING, DONE], { isWanted: false })).toEqual([]);
  expect(told([RUNNING, DONE], { isAllowed: false })).toEqual([]);
  expect(told([RUNNING, { ...FAILED, problem: problem("cancelled") }])).toEqual([]);
  expect(told([RUNNING, { ...FAILED, problem: problem("elsewhere") }])).toEqual([]);
  expect(told([{ at: "choosing", opening: false, problem: null }, DONE])).toEqual([]);
});
