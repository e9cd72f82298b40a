//! Many files: what the tab takes does not grow with them, but for the browser's own list.

import { randomBytes } from "node:crypto";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { watch } from "../memory.mjs";
import { backUpChosen, unlock } from "./kit";
import { browser, machine, setting, tab } from "./setting";

setting();

/** COPAL_MANY=100000 takes more: the browser alone then needs minutes to make the list and to let go of it. */
const FILES = Number(process.env["COPAL_MANY"] ?? 10_000);
/** Files of 16 MiB; COPAL_LARGE=1200 takes more. Nothing makes them smaller, but with COPAL_LETTERS=yes they are of four
 * letters and the repository takes a quarter of their room. */
const LARGE = Number(process.env["COPAL_LARGE"] ?? 40);
const HAS_LETTERS = process.env["COPAL_LETTERS"] === "yes";
const MIB = 1 << 20;

function letters(): Uint32Array {
  const four = Uint32Array.from({ length: 256 }, (_, bits) => [0, 2, 4, 6].reduce((all, at) => all | ((0x61 + ((bits >> at) & 3)) << (4 * at)), 0));
  const bytes = randomBytes(4 * MIB);
  return new Uint32Array(bytes.length).map((_, at) => four[bytes[at]!]!);
}

/** Does something, and gives what comes of it and the most memory of its own that the tab's process had meanwhile, in bytes. */
async function watched<T>(work: () => Promise<T>): Promise<[T, number]> {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  await devtools.detach();
  const watches = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => watch(id));
  try {
    const done = await work();
    return [done, Math.max(...watches.map((most) => most().own))];
  } finally {
    for (const end of watches) end();
  }
}

const told = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;

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
  const [, listed] = await watched(async () => {});
  const started = performance.now();
  const [first, most] = await watched(() => backUpChosen(tab));
  const seconds = (performance.now() - started) / 1000;
  expect(first).toMatchObject({ files: FILES, newFiles: FILES, receipt: "verified" });
  const again = performance.now();
  const [second, mostAgain] = await watched(() => backUpChosen(tab));
  const secondsAgain = (performance.now() - again) / 1000;
  expect(second).toMatchObject({ files: FILES, unchangedFiles: FILES, newBytes: 0, receipt: "verified" });
  console.log(`${FILES} files: listed with ${told(listed)}; first ${seconds.toFixed(1)} s, ${told(most)}; unchanged ${secondsAgain.toFixed(1)} s, ${told(mostAgain)}`);
  expect(Math.max(most, mostAgain)).toBeLessThan(listed + 384e6);
  machine.copal(["check", "--read-data"]);
}, 900_000);

test("what was uploaded does not stay in the tab", async () => {
  const folder = machine.path("Large");
  mkdirSync(folder);
  for (let at = 0; at < LARGE; at++) writeFileSync(join(folder, `${at}`), HAS_LETTERS ? letters() : randomBytes(16 * MIB));
  await unlock(tab);
  await tab.page.setInputFiles("#folder", folder);
  const [, before] = await watched(async () => {});
  const [done, most] = await watched(() => backUpChosen(tab));
  expect(done).toMatchObject({ files: LARGE, newBytes: LARGE * 16 * MIB, receipt: "verified" });
  console.log(`${LARGE} files of 16 MiB: ${told(before)} before, at most ${told(most)}`);
  expect(most - before).toBeLessThan(384e6);
  machine.copal(["check", "--read-data"]);
}, 1_800_000);
