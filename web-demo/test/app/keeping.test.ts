import { afterEach, expect, test } from "vitest";

import { Keeping } from "../../src/app/keeping";
import { PRESETS, isSame, rulesOf, typedOf } from "../../src/app/screens/kept/plans";
import { becomesWords, besideWords, floorWords, ruleWords, secondsWords, spanWords, suspicionWords } from "../../src/app/screens/kept/words";
import type { Acts, Decision, Foreseen, Plan } from "../../src/core/api";
import { failure } from "../../src/core/problem";
import { speak } from "../../src/words/language";
import { kept } from "../../src/words/kept";
import { KEPT, foresight } from "./harness/kept";
import { administering, NOW, scripted } from "./harness/scripted";

afterEach(() => speak("en"));

const PLAN: Plan = { rules: PRESETS[0]!.rules, terms: {} };

/** A keeping whose core notes what it was asked to sign. */
function keeping(decide: Acts["decide"] = async () => ({ state: "done", unchanged: [] })): { one: Keeping; signed: Decision[] } {
  const signed: Decision[] = [];
  const core = scripted({ administer: administering({ decide: (decision, device) => { signed.push(decision); return decide(decision, device); } }) });
  return { one: new Keeping(core), signed };
}

test("nothing is signed before it was foreseen and asked, and nothing after a cancel", async () => {
  const { one, signed } = keeping();
  await one.sign(null);
  await one.foresee(PLAN);
  await one.sign(null);
  one.askToSign(true);
  one.askToSign(false);
  await one.sign(null);
  one.askToSign(true);
  one.cancel();
  await one.sign(null);
  expect(signed).toEqual([]);
});

test("what is signed is what was foreseen", async () => {
  const { one, signed } = keeping();
  await one.foresee(PLAN);
  one.askToSign(true);
  await one.sign(null);
  expect(signed).toEqual([foresight(PLAN).decision]);
  expect([one.forecast.value, one.outcome.value]).toEqual([null, "set"]);
  await one.foresee({ release: ["snapshot-0"] });
  expect(one.forecast.value?.isAsked, "a release is asked at once").toBe(true);
  await one.sign(null);
  expect(signed[1]).toMatchObject({ policy: null, release: ["snapshot-0"] });
});

test("a second click signs nothing a second time", async () => {
  const { one, signed } = keeping(() => new Promise(() => {}));
  await one.foresee(PLAN);
  one.askToSign(true);
  void one.sign(null);
  await one.sign(null);
  one.cancel();
  expect([signed.length, one.forecast.value?.isSigning]).toEqual([1, true]);
});

test("what was not signed stays to be asked, with the reason", async () => {
  const { one } = keeping(async () => { throw failure("busy"); });
  await one.foresee(PLAN);
  one.askToSign(true);
  await one.sign(null);
  expect(one.forecast.value).toMatchObject({ isSigning: false, isAsked: true, problem: { code: "busy" } });
});

/** A keeping, and how often it has read the rules. */
function reading(acts: Partial<Acts>): { one: Keeping; reads: () => number } {
  let reads = 0;
  const kept: Acts["kept"] = async () => { reads += 1; return KEPT; };
  return { one: new Keeping(scripted({ administer: administering({ kept, ...acts }) })), reads: () => reads };
}
const changed = async (): Promise<never> => { throw failure("policy-changed"); };
const CHANGED = { at: "failed", problem: { code: "policy-changed" } };

test.each<[string, Plan, boolean]>([["rules", PLAN, false], ["a release", { release: ["snapshot-0"] }, true]])("of %s that somebody's change has overtaken nothing foreseen can be signed, and the rules are read anew", async (_, plan, isAsked) => {
  const { one, reads } = reading({ decide: changed });
  await one.foresee(plan);
  one.askToSign(true);
  await one.sign(null);
  expect(one.forecast.value).toMatchObject({ foresight: CHANGED, isAsked, isSigning: false, problem: null });
  one.askToSign(true);
  await one.sign(null);
  expect(reads()).toBe(1);
});

test("where other rules are in force than were shown they are read anew", async () => {
  const { one, reads } = reading({ foresee: changed });
  await one.foresee(PLAN);
  expect(one.forecast.value).toMatchObject({ foresight: CHANGED });
  expect(reads()).toBe(1);
});

test("numbers read back as they were typed, and what is none is named", () => {
  for (const { rules } of PRESETS) expect(rulesOf(typedOf(rules))).toEqual({ rules });
  const typed = typedOf(KEPT.policy!);
  expect(rulesOf({ ...typed, within: "1y 2m", floorAge: "1,5", counts: { ...typed.counts, yearly: "All", last: "0" } })).toMatchObject({ rules: { within: "1y2m", floorAge: 129_600, counts: { yearly: "all", last: null } } });
  for (const within of ["2", "d", "2 days", "2d2d", "-1d", "0x1d"]) expect(rulesOf({ ...typed, within })).toEqual({ wrong: "within" });
  for (const daily of ["-1", "1.5", "many", "1e3"]) expect(rulesOf({ ...typed, counts: { ...typed.counts, daily } })).toEqual({ wrong: "daily" });
  expect(rulesOf({ ...typed, floorLast: "x" })).toEqual({ wrong: "floorLast" });
  expect(rulesOf({ ...typed, floorAge: "soon" })).toEqual({ wrong: "floorAge" });
  expect(isSame(KEPT.policy!, { ...KEPT.policy!, counts: { ...KEPT.policy!.counts, last: 0 } })).toBe(true);
});

test("a policy is told in words", () => {
  const policy = KEPT.policy!;
  expect(ruleWords(policy)).toEqual(["Everything of the last 2 days", "One for each of the last 7 days, 4 weeks and 12 months"]);
  expect(ruleWords({ ...policy, within: "0h", counts: { ...policy.counts, last: 1, daily: null, weekly: null, monthly: null, yearly: "all" } })).toEqual(["The last backup", "One for every year"]);
  expect(besideWords({ ...policy, dayFloor: "14d", tags: [["ab".repeat(16)], ["taxes\u202e"]] })).toEqual([
    "One for each week of the last 6 months", "Backups with the tag abababab… (its name is not known)", "Backups with the tag “taxes\\u{202e}”", "The first and the last of each day of the last 14 days",
  ]);
  expect([floorWords(policy), floorWords({ floorLast: 0, floorAge: 0 })]).toEqual(["the last 3 of each name and whatever is younger than 14 days", null]);
  expect([spanWords("1y2m"), secondsWords(129_600), secondsWords(90)]).toEqual(["1 year and 2 months", "36 hours", "90 seconds"]);
});

test("it is told why a backup goes or stays, and why one is suspicious", () => {
  const one: Foreseen = { id: "a", time: NOW, becomes: "stays", protection: null, reasons: [{ kind: "counted", period: "daily", nth: 3, span: null }, { kind: "counted", period: "last", nth: 2, span: null }, { kind: "pinned", period: null, nth: null, span: null }] };
  expect(becomesWords(one, NOW)).toBe("the newest of its day, number 2 of the last and pinned");
  expect(becomesWords({ ...one, becomes: "goes", reasons: [] }, NOW)).toBe("No rule keeps it");
  expect(becomesWords({ ...one, becomes: "later", reasons: [], protection: { by: "young", until: NOW + 86_400_000 } }, NOW)).toBe("The guard keeps it until 21 Nov");
  expect(suspicionWords({ kind: "entries", before: 412_000, now: 1 })).toBe("It has about 1 file or folder, the one before had 412,000.");
  expect(suspicionWords({ kind: "rewritten", before: 2 ** 30, now: 2 ** 29 })).toContain("encrypted");
});

test("a policy reads as German where German is spoken", async () => {
  const policy = KEPT.policy!;
  await speak("de");
  expect(typedOf(PRESETS[0]!.rules).counts.yearly).toBe("alle");
  for (const yearly of ["alle", "All"]) expect(rulesOf({ ...typedOf(policy), counts: { ...typedOf(policy).counts, yearly } })).toMatchObject({ rules: { counts: { yearly: "all" } } });
  expect(ruleWords({ ...policy, counts: { ...policy.counts, yearly: "all" } }).slice(0, 3)).toEqual(["Alles, was höchstens 2 Tage alt ist", expect.stringMatching(/^Je eine für die letzten 7 Tage, 4 Wochen/), "Je eine für jedes Jahr"]);
  expect(besideWords({ ...policy, dayFloor: null, tags: [["taxes", "2026"]] })).toEqual(["Je eine für jede Woche, bis 6 Monate zurück", expect.stringMatching(/^Sicherungen mit den Schlagwörtern „taxes“/)]);
  expect(kept.rules.together(ruleWords(PRESETS[2]!.rules), floorWords({ floorLast: 1, floorAge: 0 }))).toMatch(/^Je eine für die letzten 7 Tage.*; geschützt: die letzte zu jedem Namen\.$/);
  expect(suspicionWords({ kind: "entries", before: 412_000, now: 2 })).toBe("Sie hat etwa 2 Dateien und Ordner, die davor hatte 412.000.");
});
