/** Alarms: which there are, and which there are not. */

import { afterEach, expect, test } from "vitest";
import type { Watched } from "../../src/core/api";
import { alarms, type Facts, staleSeries } from "../../src/app/alarms";
import { problem } from "../../src/core/problem";
import { speak } from "../../src/words/language";
import { held } from "./harness/kept";
import { DAY, DEVICES, FULL, NOW, SERVICE, SETTINGS, snapshots, WATCHED } from "./harness/scripted";

const GOOD: Facts = { watched: WATCHED, session: FULL, settings: SETTINGS, remembered: [], snapshots: snapshots(), devices: DEVICES, holds: [] };
const daily = (series: string, client: string, from: number): Watched["rhythms"][number] => ({ series, client, times: [0, 1, 2, 3].map((days) => NOW - (from + days) * DAY) });
const ids = (facts: Partial<Facts>, now = NOW) => alarms({ ...GOOD, ...facts }, now).map(({ id }) => id);
const watched = (other: Partial<Watched>): Facts => ({ ...GOOD, watched: { ...WATCHED, ...other } });
const folder = { id: "r", name: "Pictures", label: "Pictures", lastBackup: NOW - 8 * DAY, files: 1, bytes: 1, excludes: [], automatic: false, permission: "ask" as const };

afterEach(() => speak("en"));

test("on a good day there is none", () => {
  expect(ids({})).toEqual([]);
});

test("a series that had a rhythm is missed after the days of the settings, and after twice its usual time at least", () => {
  const missed = (days: number, times: number[]) => staleSeries({ watched: { rhythms: [{ series: "s", client: "c", times: times.map((day) => NOW - day * DAY) }] }, settings: { ...SETTINGS, staleDays: days } }, NOW).length;
  expect(missed(7, [8, 9, 10, 11])).toBe(1);
  expect(missed(7, [6, 7, 8, 9])).toBe(0);
  expect(missed(0, [100, 101, 102])).toBe(0);
  expect(missed(7, [40, 70, 100, 130]), "it comes once a month").toBe(0);
  expect(missed(7, [61, 91, 121, 151])).toBe(1);
  expect(missed(7, [30, 31]), "two have no rhythm").toBe(0);
});

test("a series is named, and is quiet once nobody expects it or its device is revoked", () => {
  const facts = watched({ rhythms: [daily("s2", "70".repeat(16), 9)] });
  expect(alarms(facts, NOW)).toMatchObject([{ id: "series s2", series: "s2", title: "desk: /home/mara of desk was backed up 9 days ago" }]);
  expect(ids({ ...facts, settings: { ...SETTINGS, quietSeries: ["s2"] } })).toEqual([]);
  expect(ids(watched({ rhythms: [daily("s2", "73".repeat(16), 9)] }))).toEqual([]);
});

test("a remembered folder is missed, and its series is not told a second time", () => {
  expect(ids({ remembered: [folder] })).toEqual(["folder r"]);
  expect(ids({ ...watched({ rhythms: [daily("s1", FULL.client!, 8)] }), remembered: [folder] })).toEqual(["folder r"]);
  expect(ids({ remembered: [{ ...folder, lastBackup: null }] }), "the first backup has not ended yet").toEqual([]);
});

test("damage and holds come first", () => {
  const facts = { ...watched({ lastCheck: { time: NOW, outcome: "damage" } }), holds: held().holds.slice(0, 1), remembered: [folder] };
  expect(ids(facts)).toEqual([`damage ${NOW}`, "hold snapshot-0", "folder r"]);
});

test("a job that fails is told, and one that has not run for three of its periods, but not one that the operator never runs", () => {
  const jobs = (other: object) => SERVICE.jobs!.map((one) => (one.job === "prune" ? { ...one, ...other } : one));
  expect(ids(watched({ service: { ...SERVICE, jobs: jobs({ isFailing: true }) } }))).toEqual(["failing prune"]);
  const late = { ...SERVICE, lastPrune: { time: NOW - 4 * DAY, freedBytes: 0 } };
  expect(ids(watched({ service: late }))).toEqual(["late prune"]);
  expect(ids(watched({ service: { ...late, jobs: jobs({ every: 0 }) } }))).toEqual([]);
  expect(ids(watched({ service: { ...late, jobs: jobs({ every: 7 * 86_400 }) } }))).toEqual([]);
  expect(ids(watched({ service: { ...late, jobs: null } })), "nobody knows its schedule").toEqual([]);
  expect(ids(watched({ service: { ...late, jobs: null, lastPrune: { time: NOW - 31 * DAY, freedBytes: 0 } } }))).toEqual(["late prune"]);
  expect(ids(watched({ lastCheck: null, since: NOW - DAY }))).toEqual([]);
  expect(ids(watched({ lastCheck: null }))).toEqual(["late check"]);
  expect(ids(watched({ lastCheck: null, since: null })), "there is nothing to check").toEqual([]);
});

test("a quota is told from nine tenths on", () => {
  const room = (used: number) => watched({ service: { ...SERVICE, room: { stored: { quota: 1_000, used }, daily: null } } });
  expect(ids(room(899))).toEqual([]);
  expect(alarms(room(900), NOW)).toMatchObject([{ id: "quota", tone: "warn" }]);
  expect(alarms(room(1_000), NOW)).toMatchObject([{ id: "quota", tone: "bad" }]);
});

test("storage that the browser may clear is told until it was read", () => {
  const session = { ...FULL, warnings: [problem("storage-short-lived")] };
  expect(alarms({ ...GOOD, session }, NOW)).toMatchObject([{ id: "storage-short-lived", warning: "storage-short-lived" }]);
  expect(ids({ session, settings: { ...SETTINGS, readWarnings: ["storage-short-lived"] } })).toEqual([]);
});

test("no name turns the text around", () => {
  const odd = snapshots().map((one) => ({ ...one, source: `a\u202eb` }));
  expect(alarms({ ...watched({ rhythms: [daily("s2", "c", 9)] }), snapshots: odd }, NOW)[0]!.title).not.toContain("\u202e");
});

test("an alarm is the same one in each language", async () => {
  const facts = { ...watched({ lastCheck: { time: NOW, outcome: "damage" }, rhythms: [daily("s2", "70".repeat(16), 9)] }), remembered: [folder] };
  const english = alarms(facts, NOW);
  await speak("de");
  const german = alarms(facts, NOW);
  expect(german.map(({ title, advice, ...same }) => same)).toEqual(english.map(({ title, advice, ...same }) => same));
  expect(german.map(({ title }) => title)).toEqual(["Die letzte Prüfung hat Schäden gefunden", "Pictures wurde hier zuletzt vor 8 Tagen gesichert", "desk: /home/mara von desk wurde zuletzt vor 9 Tagen gesichert"]);
});
