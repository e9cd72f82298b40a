import { expect, test } from "vitest";

import type { Changed, Snapshot, Wish } from "../../src/core/api";
import { failure, problem } from "../../src/core/problem";
import { speak } from "../../src/words/language";
import { Marking, forgettable, tagsOf, typedTags } from "../../src/app/marking";
import { told } from "../../src/app/screens/restore/marks";
import { scripted, snapshots } from "./harness/scripted";

const some: Snapshot[] = snapshots().slice(3, 6);

/** A marking whose core notes what it was asked to sign. */
function marking(changed: () => Promise<Changed>): { marking: Marking; signed: [Wish, string | null][] } {
  const signed: [Wish, string | null][] = [];
  const core = scripted({ changeSnapshots: (wish, device) => { signed.push([wish, device]); return changed(); } });
  return { marking: new Marking(core), signed };
}

test("nothing is signed before somebody has agreed, and nothing after a cancel", async () => {
  const { marking: one, signed } = marking(async () => ({ state: "done", unchanged: [] }));
  await one.begin("forget", some);
  one.cancel();
  await one.sign({ add: [], remove: [] }, null);
  expect(signed).toEqual([]);
  expect(one.question.value).toBeNull();
});

test("what is signed is what was asked, without what is pinned", async () => {
  const { marking: one, signed } = marking(async () => ({ state: "done", unchanged: [] }));
  expect(some.map(({ pinned }) => pinned)).toEqual([false, true, false]);
  await one.begin("forget", some);
  await one.sign({ add: ["x"], remove: [] }, "desk");
  expect(signed).toEqual([[{ do: "forget", snapshots: [some[0]!.id, some[2]!.id] }, "desk"]]);
  expect(told(one.outcome.value!)).toMatchObject({ tone: "good", title: "Forgotten: 2 snapshots" });
});

test("a second click signs nothing a second time", async () => {
  const { marking: one, signed } = marking(() => new Promise(() => {}));
  await one.begin("pin", some);
  void one.sign({ add: [], remove: [] }, null);
  await one.sign({ add: [], remove: [] }, null);
  one.cancel();
  expect(signed.length).toBe(1);
  expect(one.question.value?.isSigning).toBe(true);
});

test("what it did not come to is said, and what waits for the service too", async () => {
  const { marking: one } = marking(async () => ({ state: "done", unchanged: [some[0]!.id] }));
  await one.begin("undelete", some);
  await one.sign({ add: [], remove: [] }, null);
  expect(told(one.outcome.value!)).toMatchObject({ tone: "warn", title: "Brought back: 2 snapshots" });
  const { marking: other } = marking(async () => ({ state: "waiting", unchanged: [] }));
  await other.begin("pin", some);
  await other.sign({ add: [], remove: [] }, null);
  expect(told(other.outcome.value!)).toMatchObject({ tone: "warn", title: "Signed and stored" });
  await speak("de");
  expect(told(one.outcome.value!)).toMatchObject({ title: "Zurückgeholt: 2 Stände", advice: "1 Stand blieb wie zuvor: Das Aufräumen hat die Daten schon gelöscht." });
  await speak("en");
});

test("a failure stays in the question, and it can be tried again", async () => {
  const { marking: one } = marking(async () => { throw failure("state-older"); });
  await one.begin("pin", some);
  await one.sign({ add: [], remove: [] }, null);
  expect(one.question.value).toMatchObject({ isSigning: false, problem: problem("state-older") });
});

test("an answer that comes after a lock is dropped", async () => {
  let answer: (changed: Changed) => void = () => {};
  const { marking: one } = marking(() => new Promise((resolve) => { answer = resolve; }));
  await one.begin("pin", some);
  const signing = one.sign({ add: [], remove: [] }, null);
  one.forget();
  answer({ state: "done", unchanged: [] });
  await signing;
  expect([one.question.value, one.outcome.value, one.forgotten.value]).toEqual([null, null, null]);
});

test("tags are typed with commas, each once", () => {
  expect(typedTags(" a, b ,,a,c d ")).toEqual(["a", "b", "c d"]);
  expect(tagsOf(some)).toEqual(["before-move"]);
  expect(forgettable(some).length).toBe(2);
});
