import { afterEach, expect, test } from "vitest";

import { tagsIn, termsOf, typedTerms, withTags } from "../../src/app/screens/kept/terms";
import { weakerWords } from "../../src/app/screens/kept/weaker";
import { USUAL } from "../../src/core/keeping";
import { speak } from "../../src/words/language";
import { KEPT } from "./harness/kept";

afterEach(() => speak("en"));

const policy = { ...KEPT.policy!, zone: "CET-1CEST,M3.5.0,M10.5.0/3" };
const typed = typedTerms(policy);

test("what is not touched is not changed, to the second", () => {
  expect(termsOf(typed, policy)).toEqual({ terms: {} });
  const odd = { ...policy, grace: 5_401, hold: { share: 7, least: 1_000_001 } };
  expect(termsOf(typedTerms(odd), odd)).toEqual({ terms: {} });
  const off = { ...policy, hold: null };
  expect(termsOf(typedTerms(off), off)).toEqual({ terms: {} });
  expect(termsOf({ ...typed, tags: typed.tags.map((set) => [...set].reverse()).reverse() }, policy)).toEqual({ terms: {} });
});

test("what is typed is what is set", () => {
  expect(termsOf({ ...typed, tags: [["a", "b"]], grace: "2 w", share: "20 %", least: "1,5", zone: "" }, policy)).toEqual({
    terms: { tags: [["a", "b"]], grace: 1_209_600, hold: { share: 20, least: 1.5 * 2 ** 20 }, zone: "" },
  });
  expect(termsOf({ ...typed, watches: false, share: "many" }, policy)).toEqual({ terms: { hold: null } });
  expect(termsOf({ ...typedTerms({ ...policy, hold: null }), watches: true }, { ...policy, hold: null })).toEqual({ terms: { hold: USUAL.hold } });
  expect(typedTerms({ ...policy, hold: null }).share).toBe(String(USUAL.hold!.share));
});

test("a field that cannot be set is named, and nothing shorter than an hour is one", () => {
  for (const grace of ["", "soon", "0d", "59", "1.5d", "3599s"]) expect(termsOf({ ...typed, grace }, policy), grace).toEqual({ wrong: "grace" });
  for (const share of ["", "0", "101", "1.5", "half"]) expect(termsOf({ ...typed, share }, policy), share).toEqual({ wrong: "share" });
  for (const least of ["", "much", "-1"]) expect(termsOf({ ...typed, least }, policy), least).toEqual({ wrong: "least" });
});

test("tags are split at commas, and a set stands there once", () => {
  expect(tagsIn(" taxes, 2026 ,, taxes")).toEqual(["taxes", "2026"]);
  expect(withTags([["a", "b"]], ["b", "a"])).toEqual([["a", "b"]]);
  expect(withTags([["a", "b"]], [])).toEqual([["a", "b"]]);
  expect(withTags([["a", "b"]], ["a"])).toEqual([["a", "b"], ["a"]]);
});

test("whatever protects less than before is told, and nothing else", () => {
  const less = (rules: Partial<typeof policy>, terms: Parameters<typeof weakerWords>[2] = {}, before = policy) => weakerWords(before, { ...before, ...rules }, terms);
  expect(weakerWords(null, policy, {})).toEqual(["So far every backup stays until somebody forgets it."]);
  expect(weakerWords(null, policy, { grace: 3_600 })).toEqual([expect.any(String), expect.stringMatching(/for 1 day\. Then: 1 hour/)]);
  // As before, and more than before.
  expect(less({})).toEqual([]);
  expect(less({ within: "3d", floorLast: 9, floorAge: 30 * 86_400, counts: { ...policy.counts, daily: "all", last: 1 } }, { grace: 172_800, hold: { share: 20, least: 0 }, tags: [...policy.tags, ["new"]], zone: "" })).toEqual([]);
  // A set of fewer tags keeps more.
  expect(less({}, { tags: [["before-move"], ["taxes"]] })).toEqual([]);
  expect(less({}, { tags: [["before-move", "more"], ["signed", "taxes"]] })).toEqual(["Backups with the tag “before-move” would no longer stay for ever."]);
  expect(less({ counts: { ...policy.counts, daily: 6 } })).toEqual([expect.stringMatching(/^So far: Everything of the last 2 days; one for each of the last 7 days.*Then: .*6 days/)]);
  expect(less({ within: null })).toHaveLength(1);
  expect(less({ floorLast: 0, floorAge: 0 })).toEqual(["Guarded so far: the last 3 of each name and whatever is younger than 14 days. Then: nothing."]);
  expect(less({}, { hold: null })).toEqual([expect.stringContaining("No backup would count as suspicious")]);
  expect(less({}, { hold: { share: 60, least: 64 << 20 } })).toEqual([expect.stringContaining("Then: 60 %")]);
  expect(less({}, { hold: { share: 50, least: 65 << 20 } })).toHaveLength(1);
  expect(less({}, { grace: 3_600 })).toEqual([expect.stringMatching(/brought back for 1 day\. Then: 1 hour\. That counts at once/)]);
  // Without a rule nothing goes: whoever takes the last rule away keeps more, and whoever sets the first one less.
  const none = { ...policy, spans: [], tags: [], within: null, counts: { ...policy.counts, daily: null, weekly: null, monthly: null } };
  expect(less({ within: null, counts: none.counts }, { tags: [] }, { ...policy, spans: [] })).toEqual([]);
  expect(weakerWords(null, none, {})).toEqual([]);
  expect(less({ counts: { ...none.counts, last: "all" } }, {}, none)).toEqual([]);
  expect(less({}, { tags: [["taxes"]] }, none)).toEqual([expect.stringMatching(/^So far: Every backup\. Then: .*taxes/)]);
  // The first and last of each day stay besides what rules keep: alone they let nothing go.
  expect(less({ counts: { ...none.counts, daily: 7 } }, {}, { ...none, dayFloor: "14d" })).toEqual([expect.stringMatching(/^So far: Every backup\. /)]);
  // A month may have 28 days.
  expect(less({ within: "1m" }, {}, { ...none, within: "30d" })).toHaveLength(1);
  expect(less({ within: "2d" }, {}, none)).toEqual(["So far: Every backup. Then: Everything of the last 2 days."]);
});

test("it is told in German where German is spoken", async () => {
  await speak("de");
  expect(weakerWords(policy, policy, { grace: 3_600, tags: [policy.tags[1]!] })).toEqual([
    "Sicherungen mit dem Schlagwort „before-move“ würden nicht mehr für immer bleiben.",
    expect.stringMatching(/^Bisher lässt sich 1 Tag lang zurückholen/),
  ]);
});
