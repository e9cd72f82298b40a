//! Slow: a line of 2 Mbit/s, and what is safe of a backup that breaks off.

import { statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import type { BackupProgress } from "../../src/core/api";
import { SlowLine, type Tab, generate, listing, open, unlock } from "./kit";
import { browser, machine, setting } from "./setting";

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

async function told({ page }: Tab): Promise<{ ms: number; progress: BackupProgress }[]> {
  return page.evaluate(() => (window as unknown as { told: { ms: number; progress: BackupProgress }[] }).told);
}

async function until(tab: Tab, holds: (progress: BackupProgress) => boolean): Promise<BackupProgress> {
  for (const deadline = Date.now() + 240_000; ; ) {
    const newest = (await told(tab)).at(-1)?.progress;
    if (newest && holds(newest)) return newest;
    if (Date.now() > deadline) throw new Error(`it never holds: ${JSON.stringify(newest)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

test("over a line of 2 Mbit/s the page says what has gone and what is left, most of it is safe within half a minute, and what is safe is not sent again", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 40, large: 24 << 20 });
  line = await SlowLine.open(machine.url, 250_000);
  slow = await open(browser, line.url);
  await unlock(slow);
  await begin(slow, folder);
  const safe = await until(slow, ({ securedBytes }) => securedBytes > 4 << 20);
  const all = await told(slow);
  const size = statSync(join(folder, "noise.bin")).size;

  // The line takes 250 kB a second; some hundred kB wait in sockets on the way.
  const ahead = all.map(({ ms, progress }) => progress.newBytes - (progress.bytes.read - progress.bytes.done) - (250 * ms + 8e6));
  expect(Math.max(...ahead), "more is said to be done than the line can have taken").toBeLessThan(0);
  const etas = all.flatMap(({ ms, progress }) => (ms > 15_000 && progress.eta !== null ? [progress.eta] : []));
  expect(etas.length).toBeGreaterThan(0);
  expect(Math.max(...etas)).toBeLessThan(600);
  expect(Math.min(...etas)).toBeGreaterThan(20);
  const [first] = all.filter(({ progress }) => progress.securedBytes > 0);
  expect(first!.ms).toBeLessThan(40_000);
  // Never more than was sent.
  expect(safe.securedBytes).toBeLessThan(line.sent + (6 << 20));

  // The browser crashes: the tab is gone with all it knew.
  await slow.context.close();
  line.cut();
  const fast = await open(browser, machine.url);
  slow = fast;
  await unlock(fast);
  await begin(fast, folder);
  const ended = await fast.page.evaluate(() => (window as unknown as { ended: Promise<{ result: { bytes: number; newBytes: number; snapshot: string } }> }).ended);
  expect(ended.result.bytes).toBeGreaterThan(size);
  expect(ended.result.bytes - ended.result.newBytes).toBeGreaterThanOrEqual(safe.securedBytes);
  machine.copal(["restore", ended.result.snapshot, "--target", "out"]);
  expect(listing(machine.path("out/Pictures"))).toEqual(listing(folder));
}, 300_000);
