//! Versions: the history of a file over snapshots of the command and of the page, each version restored as it was saved; a search
//! over all snapshots; and what both cost. COPAL_SNAPSHOTS=NUMBER makes so many snapshots and tells the numbers.

import { appendFileSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import type { Seek } from "../../src/core/api";
import { backUp, unlock } from "./kit";
import { machine, setting, tab } from "./setting";

setting();

const MANY = Number(process.env["COPAL_SNAPSHOTS"] ?? 40);
const ASKED: Seek = { name: "", kind: null, modifiedFrom: null, modifiedTo: null, sizeFrom: null, series: null };
const day = (number: number) => new Date(Date.UTC(2025, 0, number, 12));

/** Writes a file as it was on a day. */
function write(path: string, content: string | Buffer, on: number): void {
  writeFileSync(path, content);
  utimesSync(path, day(on), day(on));
}

const save = (more: Record<string, string> = {}) => machine.copal(["backup", "Docs"], { COPAL_REPOSITORY: machine.url, ...more });

/** The versions of the file of a name, newest first, and what each was restored to. */
async function versions(name: string, isWide = false) {
  const found = await tab.page.evaluate(async ({ name, isWide }) => {
    const { snapshots } = await window.core.snapshots();
    for (const { id } of snapshots) {
      const hit = (await (await window.core.search(id, "", name)).done).hits.find((one) => one.name === name);
      if (hit) return (await (await window.core.versions(id, hit.id, isWide)).done).versions;
    }
    throw new Error(`no snapshot has ${name}`);
  }, { name, isWide });
  const told = [];
  for (const { entry, newest, count, content, series } of found) {
    if (!entry) told.push({ text: null, count, content, series, modified: null });
    else {
      const arriving = tab.page.waitForEvent("download");
      await tab.page.evaluate(async ({ newest, id }) => (await window.core.download(newest, [id], { askWhere: false })).done, { newest, id: entry.id });
      told.push({ text: readFileSync(await (await arriving).path(), "latin1"), count, content, series, modified: entry.modified });
    }
  }
  return told;
}

const seek = (asked: Partial<Seek>) => tab.page.evaluate(async (asked) => (await window.core.seek(asked)).done, { ...ASKED, ...asked });

test("a file that changed, vanished and came back has a history, and each version is restored bit for bit", async () => {
  const docs = machine.path("Docs");
  const report = join(docs, "report.txt");
  mkdirSync(join(docs, "old"), { recursive: true });
  write(join(docs, "old/other.txt"), "always the same", 1);
  save();
  const large = Buffer.alloc(300_000, "a line of the report\n");
  const contents = ["the first\n", large.toString("latin1"), `${large.toString("latin1").slice(5_000)}the end\n`];
  write(report, contents[0]!, 2);
  save();
  save();
  write(report, contents[1]!, 3);
  save();
  write(report, contents[2]!, 4);
  save();
  rmSync(report);
  save();
  save();
  write(report, contents[1]!, 5);
  save();
  // Another device has the same path.
  write(report, "of another device\n", 6);
  save({ HOME: machine.path("another") });

  await unlock(tab);
  const wide = await versions("report.txt", true);
  const [other] = wide;
  const own = await tab.page.evaluate(async (series) => {
    const { snapshots } = await window.core.snapshots();
    const newest = snapshots.find((one) => one.series !== series)!;
    const hit = (await (await window.core.search(newest.id, "", "report.txt")).done).hits[0]!;
    return (await (await window.core.versions(newest.id, hit.id, false)).done).versions.length;
  }, other!.series);
  expect(wide.map(({ text, count, modified }) => ({ text, count, on: modified && new Date(modified).getUTCDate() }))).toEqual([
    { text: "of another device\n", count: 1, on: 6 },
    { text: contents[1], count: 1, on: 5 },
    { text: null, count: 2, on: null },
    { text: contents[2], count: 1, on: 4 },
    { text: contents[1], count: 1, on: 3 },
    { text: contents[0], count: 2, on: 2 },
  ]);
  expect(wide[1]!.content, "it came back with the content of before").toBe(wide[4]!.content);
  expect(new Set(wide.flatMap(({ content }) => content ?? [])).size).toBe(4);
  expect(own, "without the other device").toBe(5);

  // The page's own backups are a series too.
  await backUp(tab, docs, "Docs");
  write(join(docs, "page.txt"), "one", 7);
  await backUp(tab, docs, "Docs");
  write(join(docs, "page.txt"), "two!", 8);
  await backUp(tab, docs, "Docs");
  await backUp(tab, docs, "Docs");
  expect((await versions("page.txt")).map(({ text, count }) => [text, count])).toEqual([["two!", 2], ["one", 1]]);

  const found = await seek({ name: "REPORT.*" });
  expect(found.hits.map(({ count }) => count).sort()).toEqual([1, 4, 5]);
  expect(found).toMatchObject({ looked: 13, total: 13, more: false, damage: [] });
  expect((await seek({ name: "report", modifiedFrom: day(4).getTime(), modifiedTo: day(5).getTime() })).hits.map(({ count }) => count)).toEqual([2]);
  expect((await seek({ kind: "folder", name: "old" })).hits).toHaveLength(3);
  expect((await seek({ kind: "picture" })).hits).toEqual([]);
  expect((await seek({ sizeFrom: 300_000 })).hits.map(({ entry }) => entry.size)).toEqual([300_000]);
});

test("a history and a search read each page once, with one request for each snapshot that differs", async () => {
  const docs = machine.path("Docs");
  for (const folder of ["a", "b"]) mkdirSync(join(docs, folder), { recursive: true });
  for (let at = 0; at < 400; at++) write(join(docs, at % 2 ? "a" : "b", `file ${at}.txt`), `${at}\n`.repeat(at), 1);
  const diary = join(docs, "a/diary.txt");
  for (let at = 0; at < MANY; at++) {
    // Each tenth snapshot is as the one before.
    if (at % 10 !== 9) appendFileSync(diary, `day ${at}\n`);
    if (at % 10 !== 9) utimesSync(diary, day(at), day(at));
    save();
  }
  await unlock(tab);
  const requests: string[] = [];
  tab.page.context().on("request", (request) => { if (request.url().includes("/packs/")) requests.push(`${request.url()} ${request.headers()["range"]}`); });
  /** Does something that reads pages, in a library that has opened none. */
  const cost = async <Value>(what: string, work: () => Promise<Value>) => {
    await tab.page.evaluate(() => window.core.snapshots());
    requests.length = 0;
    const start = performance.now();
    const value = await work();
    if (process.env["COPAL_SNAPSHOTS"]) console.log(`${what}: ${Math.round(performance.now() - start)} ms, ${requests.length} requests for ${MANY} snapshots`);
    // Of more than 256 packs the first are forgotten: what an old snapshot needs of them is asked for again.
    if (MANY <= 200) expect(new Set(requests).size, `${what}: nothing is asked for twice`).toBe(requests.length);
    // Directories above the folder are in the trees, and others change them: a snapshot that is equal may differ in them.
    expect(requests.length).toBeLessThanOrEqual(MANY + 3);
    return value;
  };
  const { snapshot, id } = await tab.page.evaluate(async () => {
    const snapshot = (await window.core.snapshots()).snapshots[0]!.id;
    return { snapshot, id: (await (await window.core.search(snapshot, "", "diary.txt")).done).hits[0]!.id };
  });
  const history = await cost("history", () => tab.page.evaluate(async ({ snapshot, id }) => (await (await window.core.versions(snapshot, id, false)).done).versions, { snapshot, id }));
  expect(history).toHaveLength(MANY - Math.floor(MANY / 10));
  expect(history.reduce((sum, { count }) => sum + count, 0)).toBe(MANY);
  expect((await cost("search for one", () => seek({ name: "diary" }))).hits).toMatchObject([{ count: MANY }]);
  const { hits } = await cost("search for all", () => seek({ kind: "document" }));
  expect(hits).toHaveLength(401);
  expect(hits.every(({ count }) => count === MANY)).toBe(true);
});
