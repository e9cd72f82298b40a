//! Slow: a line of 2 Mbit/s, and what is safe of a backup that does not come to its end.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import type { BackupProgress, BackupResult } from "../../src/core/api";
import { SlowLine, type Tab, generate, listing, open, unlock } from "./kit";
import { browser, machine, setting, tab, web } from "./setting";

// What breaks off is said on the console, and so is a server that is away.
setting((stray) => stray.startsWith("error: "));

let line: SlowLine | null = null;
let slow: Tab | null = null;
afterEach(async () => {
  await slow?.context.close();
  line?.cut();
  [slow, line] = [null, null];
});

/** Begins a backup of a folder, and keeps all that is told of it in the page. */
async function begin({ page }: Tab, folder: string): Promise<void> {
  await page.setInputFiles("#folder", folder);
  await page.evaluate(async () => {
    const files = (document.getElementById("folder") as HTMLInputElement).files!;
    const chosen = await window.core.folderFromInput(files);
    const run = await window.core.startBackup({ folder: chosen.id, label: "photos", excludes: [], remember: false });
    const told: { ms: number; progress: BackupProgress }[] = [];
    const begun = performance.now();
    run.onProgress((progress) => void told.push({ ms: performance.now() - begun, progress }));
    const ended = run.done.then((result) => ({ result, code: null }), (error: { problem: { code: string } }) => ({ result: null, code: error.problem.code }));
    Object.assign(window, { told, ended });
  });
}

/** Bytes of a line in a second. */
const RATE = 250_000;

async function told({ page }: Tab): Promise<{ ms: number; progress: BackupProgress }[]> {
  return page.evaluate(() => (window as unknown as { told: { ms: number; progress: BackupProgress }[] }).told);
}

function ended({ page }: Tab): Promise<{ result: BackupResult | null; code: string | null }> {
  return page.evaluate(() => (window as unknown as { ended: Promise<{ result: BackupResult | null; code: string | null }> }).ended);
}

async function until(tab: Tab, holds: (progress: BackupProgress) => boolean): Promise<BackupProgress> {
  for (const deadline = Date.now() + 240_000; ; ) {
    const newest = (await told(tab)).at(-1)?.progress;
    if (newest && holds(newest)) return newest;
    if (Date.now() > deadline) throw new Error(`it never holds: ${JSON.stringify(newest)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

test("over a line of 2 Mbit/s the page says what has gone and what is left, the first of it is safe once the line has taken what it takes in 40 seconds, and what is safe is not sent again", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 40, large: 24 << 20 });
  line = await SlowLine.open(machine.url, RATE);
  slow = await open(browser, line.url);
  await unlock(slow);
  await begin(slow, folder);
  await until(slow, ({ securedBytes }) => securedBytes > 0);
  // On a busy machine the line takes less.
  const seconds = line.sent / RATE;
  // The second time half a minute later, while about half is left.
  const first = (await told(slow)).at(-1)!.progress.securedBytes;
  const safe = await until(slow, ({ securedBytes }) => securedBytes > first);
  const all = await told(slow);
  const size = statSync(join(folder, "noise.bin")).size;

  // The line takes 250 kB a second; some hundred kB wait in sockets on the way.
  const ahead = all.map(({ ms, progress }) => progress.newBytes - (progress.bytes.read - progress.bytes.done) - ((RATE / 1000) * ms + 8e6));
  expect(Math.max(...ahead), "more is said to be done than the line can have taken").toBeLessThan(0);
  const isUnderWay = ({ ms, progress }: (typeof all)[number]) => ms > 15_000 && progress.phase === "uploading";
  const etas = all.filter(isUnderWay).flatMap(({ progress: { eta } }) => (eta === null ? [] : [eta]));
  expect(etas.length).toBeGreaterThan(0);
  expect(Math.max(...etas)).toBeLessThan(600);
  expect(Math.min(...etas)).toBeGreaterThan(20);
  expect(seconds).toBeLessThan(40);
  expect(safe.phase, "nothing more was safe before the end").toBe("uploading");
  // Never more than was sent.
  expect(safe.securedBytes).toBeLessThan(line.sent + (6 << 20));

  // The browser crashes: the tab is gone with all it knew.
  await slow.context.close();
  line.cut();
  const fast = await open(browser, machine.url);
  slow = fast;
  await unlock(fast);
  await begin(fast, folder);
  const { result } = await ended(fast);
  expect(result!.bytes).toBeGreaterThan(size);
  expect(result!.bytes - result!.newBytes).toBeGreaterThanOrEqual(safe.securedBytes);
  machine.copal(["restore", result!.snapshot, "--target", "out"]);
  expect(listing(machine.path("out/Pictures"))).toEqual(listing(folder));
});

/** How many objects the repository has in a folder. */
const objects = (folder: string) => readdirSync(machine.path(`repository/${folder}`), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;

test("what is safe when the server has no more room is noted, offered after a reload, and not sent again", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 40, large: 60 << 20 });
  await machine.kill();
  await machine.serve(web, ["--quota", "24MiB"]);
  await unlock(tab);
  await begin(tab, folder);
  expect((await ended(tab)).code).toBe("quota");
  const { securedBytes } = (await told(tab)).at(-1)!.progress;
  // Packs grow with the line's speed up to 16 MiB, and the last may find no room.
  expect(securedBytes).toBeGreaterThan(4 << 20);
  const page = await tab.context.newPage();
  await tab.page.close();
  tab.page = page;
  await page.goto(machine.url);
  await page.waitForSelector("body[data-ready=yes]", { state: "attached" });
  await unlock(tab);
  const noted = await page.evaluate(() => window.core.unfinished());
  expect(noted).toMatchObject([{ name: "Pictures", label: "photos", safeBytes: securedBytes, folder: null }]);

  await machine.kill();
  await machine.serve(web);
  // A backup counts as stored only what the service has answered, which takes it a while on a busy machine.
  await expect.poll(() => objects("manifests") - objects("receipts"), { timeout: 60_000 }).toBe(0);
  await begin(tab, folder);
  const { result } = await ended(tab);
  expect(result!.bytes - result!.newBytes).toBeGreaterThanOrEqual(securedBytes);
  expect(result).toMatchObject({ resumed: true });
  expect(await page.evaluate(() => window.core.unfinished())).toEqual([]);
  machine.copal(["restore", result!.snapshot, "--target", "out"]);
  expect(listing(machine.path("out/Pictures"))).toEqual(listing(folder));
});

test("a folder whose backup has crashed is offered with one click, and goes on", async () => {
  await unlock(tab);
  await tab.page.evaluate(async () => {
    const picked = await (await navigator.storage.getDirectory()).getDirectoryHandle("Diary", { create: true });
    for (let at = 0; at < 30; at++) {
      const file = await (await picked.getFileHandle(`${at}.bin`, { create: true })).createWritable();
      for (let part = 0; part < 32; part++) await file.write(crypto.getRandomValues(new Uint8Array(1 << 16)));
      await file.close();
    }
    Object.assign(window, { showDirectoryPicker: async () => picked });
    const folder = (await window.core.pickFolder())!;
    const run = await window.core.startBackup({ folder: folder.id, label: "Diary", excludes: ["*.tmp"], remember: true });
    run.done.catch(() => {});
    await new Promise<void>((resolve) => run.onProgress(({ storedBytes }) => storedBytes > 0 && resolve()));
  });
  const page = await tab.context.newPage();
  await tab.page.close();
  tab.page = page;
  await page.goto(machine.url);
  await page.waitForSelector("body[data-ready=yes]", { state: "attached" });
  await unlock(tab);
  const { offered, result, left } = await page.evaluate(async () => {
    const offered = (await window.core.unfinished())[0]!;
    const folder = await window.core.openRemembered(offered.folder!);
    const { label, excludes } = offered;
    const result = await (await window.core.startBackup({ folder: folder.id, label, excludes, remember: true })).done;
    return { offered, result, left: await window.core.unfinished() };
  });
  expect(offered).toMatchObject({ name: "Diary", label: "Diary", excludes: ["*.tmp"] });
  expect(result).toMatchObject({ files: 30, receipt: "verified", resumed: true });
  expect(left).toEqual([]);
});
