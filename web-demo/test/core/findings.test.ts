//! Findings: what a check has found is grouped, and everything that a check can find has a sentence in each language.

import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, expect, test } from "vitest";

import { FAULTS, FOLDERS, NO_DAMAGE, type Thing, findingsOf, thingOf } from "../../src/core/findings";
import { outcomeOf } from "../../src/core/coordinator/reports";
import { speak } from "../../src/words/language";
import { status } from "../../src/words/status";

afterEach(() => speak("en"));

const ROOT = resolve(import.meta.dirname, "../../..");
const source = (path: string) => readFileSync(join(ROOT, path), "utf8");
const named = new Map([["aa", { source: "Pictures", time: 5 }], ["bb", { source: "Letters", time: 9 }]]);

test("each kind that the service can find has a name here", () => {
  const kinds = [...source("jobs/src/check/report.rs").matchAll(/Kind::\w+ => "(\w+)"/g)].map(([, name]) => name);
  expect(kinds.length).toBeGreaterThan(4);
  expect(kinds.sort()).toEqual([...FAULTS, ...NO_DAMAGE].sort());
});

test("each folder of a repository that a check looks at has a name here", () => {
  const places = [...source("format/src/layout.rs").matchAll(/"([a-z]+)\/[{"]/g)].map(([, folder]) => folder!);
  const checks = readdirSync(join(ROOT, "jobs/src/check")).flatMap((name) => [...source(`jobs/src/check/${name}`).matchAll(/"([a-z]+)\/[{"]/g)].map(([, folder]) => folder!));
  expect(places.length).toBeGreaterThan(9);
  // Where a check itself notes how far it came.
  const folders = new Set([...places, ...checks].filter((folder) => folder !== "work"));
  expect([...folders].filter((folder) => !(folder in FOLDERS))).toEqual([]);
});

test("each fault of each thing has a sentence of its own, in English and in German", async () => {
  const things = [...new Set<Thing>([...Object.values(FOLDERS), "client-copy", "keys", "content", "roots"])];
  for (const language of ["en", "de"] as const) {
    await speak(language);
    const said = FAULTS.flatMap((fault) => things.flatMap((thing) => [1, 2].map((number) => status.findings.said(fault, thing, number))));
    expect(new Set(said).size, language).toBe(said.length);
    for (const sentence of said) expect(sentence, language).toMatch(/^(\p{Lu}|2 ).+\p{Ll}\.$/u);
  }
});

test("findings of a kind are one, with the newest of the snapshots that they harm", () => {
  const report = { findings: [
    { kind: "missing", object: "keys/7f/a", why: "only one of its two copies is whole", snapshots: [] },
    { kind: "damaged", object: "packs/ab/cd", why: "it is altered", snapshots: ["aa", "cc"] },
    { kind: "damaged", object: "moved/ab/ce", why: "it is shorter", snapshots: ["aa", "bb"] },
  ] };
  expect(findingsOf(report, named)).toEqual([
    { kind: { fault: "damaged", thing: "pack" }, count: 2, harmed: 3, newest: [named.get("bb"), named.get("aa")], told: ["packs/ab/cd: it is altered", "moved/ab/ce: it is shorter"] },
    { kind: { fault: "missing", thing: "key" }, count: 1, harmed: 0, newest: [], told: ["keys/7f/a: only one of its two copies is whole"] },
  ]);
});

test("what was replaced is no damage, and what a newer service finds is kept as it came", () => {
  expect(findingsOf({ findings: [{ kind: "replaced", object: "packs/ab/cd", why: "it was altered", snapshots: [] }] }, named)).toEqual([]);
  for (const [findings, outcome] of [[[{ kind: "replaced" }, { kind: "accepted" }], "sound"], [[{ kind: "replaced" }, { kind: "haunted" }], "damage"], [[null], "damage"], [[], "sound"], ["none", "sound"], [undefined, "sound"]] as const) expect(outcomeOf({ findings })).toBe(outcome);
  const report = { findings: [{ kind: "haunted", object: "packs/ab/cd", why: "it moans" }, { kind: "missing", object: "attic/1", why: "it is gone" }, null] };
  expect(findingsOf(report, named)).toEqual([{ kind: null, count: 3, harmed: 0, newest: [], told: ["packs/ab/cd: it moans", "attic/1: it is gone", ": "] }]);
  for (const report of [{}, { findings: "none" }]) expect(findingsOf(report, named)).toEqual([]);
});

test("what nobody should have written into a report breaks nothing", () => {
  const hostile = { toString: null };
  for (const object of ["constructor/x", "__proto__/x", "toString/", hostile]) {
    const [found] = findingsOf({ findings: [{ kind: "missing", object, why: hostile, snapshots: [hostile, 1, null, "aa"] }] }, named);
    expect(structuredClone(found)).toMatchObject({ kind: null, count: 1, harmed: 1, newest: [named.get("aa")] });
  }
  expect(findingsOf({ findings: [{ kind: "missing", object: "roots/", why: "no root can be read" }] }, named)[0]!.kind).toEqual({ fault: "missing", thing: "roots" });
});

test("a thing is known by its name", () => {
  const names = ["keys/", "keys/7f/a", "clients/7f", "clients/7f/0001", "clients/7f/0001~copy", "roots/", "9f".repeat(24), "9f".repeat(32), "9f", "roots", "attic/1"];
  expect(names.map(thingOf)).toEqual(["keys", "key", "client", "client-copy", "client-copy", "root", "content", "pack", null, null, null]);
});
