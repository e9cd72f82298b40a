//! Many files: what the tab takes does not grow with them, but for the browser's own list.

import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { backUpChosen, unlock } from "./kit";
import { browser, machine, setting, tab } from "./setting";

setting();

/** COPAL_MANY=100000 takes more: the browser alone then needs minutes to make the list and to let go of it. */
const FILES = Number(process.env["COPAL_MANY"] ?? 10_000);
/** Files of 16 MiB that nothing makes smaller; COPAL_LARGE=1000 takes more. */
const LARGE = Number(process.env["COPAL_LARGE"] ?? 40);
const MIB = 1 << 20;

/** The most memory that the tab's process has had since it was asked the last time, in bytes. */
async function peak(): Promise<number> {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  await devtools.detach();
  const peaks = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => {
    try {
      const most = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1];
      writeFileSync(`/proc/${id}/clear_refs`, "5");
      return Number(most) * 1024;
    } catch {
      // A spare one that has gone since.
      return 0;
    }
  });
  return Math.max(...peaks);
}

test("a folder of many files is backed up whole through the input, and again when it is unchanged, in bounded memory", async () => {
  const folder = machine.path("Many");
  for (let at = 0; at < FILES; at++) {
    const below = join(folder, `${at % 100}`, `${Math.floor(at / 100) % 10}`);
    if (at < 1_000) mkdirSync(below, { recursive: true });
    const path = join(below, `file ${at}.txt`);
    writeFileSync(path, `the content of file ${at}\n`.repeat(1 + (at % 40)));
    // A file that was touched just before a backup is read again by the next one.
    utimesSync(path, 1_700_000_000, 1_700_000_000);
  }
  await unlock(tab);
  await tab.page.setInputFiles("#folder", folder);
  expect(await tab.page.evaluate(() => (document.getElementById("folder") as HTMLInputElement).files!.length)).toBe(FILES);
  const listed = await peak();
  const started = performance.now();
  const first = await backUpChosen(tab);
  const [seconds, most] = [(performance.now() - started) / 1000, await peak()];
  expect(first).toMatchObject({ files: FILES, newFiles: FILES, receipt: "verified" });
  const again = performance.now();
  const second = await backUpChosen(tab);
  const [secondsAgain, mostAgain] = [(performance.now() - again) / 1000, await peak()];
  expect(second).toMatchObject({ files: FILES, unchangedFiles: FILES, newBytes: 0, receipt: "verified" });
  const told = (bytes: number) => `${Math.round(bytes / MIB)} MiB`;
  console.log(`${FILES} files: listed with ${told(listed)}; first ${seconds.toFixed(1)} s, ${told(most)}; unchanged ${secondsAgain.toFixed(1)} s, ${told(mostAgain)}`);
  expect(Math.max(most, mostAgain)).toBeLessThan(listed + 384 * MIB);
  machine.copal(["check", "--read-data"]);
}, 900_000);

test("what was uploaded does not stay in the tab", async () => {
  const folder = machine.path("Large");
  mkdirSync(folder);
  for (let at = 0; at < LARGE; at++) writeFileSync(join(folder, `${at}`), randomBytes(16 * MIB));
  await unlock(tab);
  await tab.page.setInputFiles("#folder", folder);
  const before = await peak();
  expect(await backUpChosen(tab)).toMatchObject({ files: LARGE, newBytes: LARGE * 16 * MIB, receipt: "verified" });
  const most = await peak();
  console.log(`${LARGE} files of 16 MiB: ${Math.round(before / MIB)} MiB before, at most ${Math.round(most / MIB)} MiB`);
  expect(most).toBeLessThan(before + 384 * MIB);
  machine.copal(["check", "--read-data"]);
}, 900_000);
