//! Firefox and WebKitGTK: a person backs up, the command restores, and the browser reads it back.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, inject, test } from "vitest";

import { Driver } from "./driver";
import { PASSPHRASE, generate, listing } from "./kit";
import { machine, served } from "./setting";

let driver: Driver | null;

served(inject("product"));
beforeEach(() => {
  driver = null;
});
afterEach(async () => {
  await driver?.end();
});

/** Unlocks the page by hand. */
async function unlock(driver: Driver): Promise<void> {
  await driver.open(machine.url);
  await driver.see("Passphrase");
  await driver.type("input[type=password]", `${PASSPHRASE}${ENTER}`);
  await driver.see("or drop folders and files anywhere on this page");
}

/** Starts the backup of what was chosen, and waits until the service has verified it. */
async function start(driver: Driver, label: string): Promise<void> {
  const name = "input[maxlength='200']";
  await driver.clear(name);
  await driver.type(name, label);
  await driver.click("button[type=submit]");
  await driver.see(`\n${label} is backed up\n`);
  await driver.see("Verified by the service");
}

function restored(): Record<string, string> {
  const [{ id }] = JSON.parse(machine.copal(["snapshots", "--json"])) as [{ id: string }];
  rmSync(machine.path("out"), { recursive: true, force: true });
  machine.copal(["restore", id, "--target", "out"]);
  return listing(machine.path("out"));
}

/** Opens the list of the only snapshot. */
async function browse(driver: Driver, label: string): Promise<void> {
  await driver.click("a[href$=restore]");
  await driver.see(label);
  await driver.click("[role=row] .two");
}

/** Waits until Firefox has put a download under its name: it writes beside it, leaves an empty file there meanwhile, and may move
 * the bytes by copying them. */
async function whole(file: string): Promise<void> {
  let before = -1;
  await expect.poll(() => {
    const bytes = existsSync(file) && !existsSync(`${file}.part`) ? statSync(file).size : 0;
    const isSame = bytes > 0 && bytes === before;
    before = bytes;
    return isSame;
  }, { timeout: 240_000, interval: 2_000 }).toBe(true);
}

function picture(name: string, png: Buffer): void {
  const folder = process.env["COPAL_SHOTS"];
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.png`), png);
}

test("Firefox backs a folder up as the command restores it, and downloads it as it was", async () => {
  const home = machine.path("firefox");
  mkdirSync(home);
  driver = await Driver.firefox(home);
  const folder = machine.path("Pictures");
  generate(folder, { files: 300, large: 6 << 20 });
  await unlock(driver);
  await driver.chooseFolder(".drop .button.main", folder);
  await start(driver, "Photos");
  picture("firefox-end", await driver.picture());
  expect(restored()).toEqual(Object.fromEntries(Object.entries(listing(folder)).map(([path, hash]) => [`Pictures/${path}`, hash])));
  await browse(driver, "Photos");
  await driver.see("Pictures");
  await driver.press("Download zip");
  await driver.see("Every byte was verified");
  const zip = join(home, "downloads/Photos.zip");
  await whole(zip);
  execFileSync("unzip", ["-q", zip, "-d", machine.path("unzipped")]);
  expect(listing(machine.path("unzipped/Pictures"))).toEqual(listing(folder));
  picture("firefox-browse", await driver.picture());
});

test("WebKitGTK backs files up as the command restores them", async () => {
  const home = machine.path("webkit");
  driver = await Driver.webkit(home, STORAGE);
  const files: Record<string, string> = {};
  const paths = ["letter.txt", "naïve Grüße.txt", "noise.bin"].map((name, at) => {
    const path = machine.path(name);
    const content = at === 2 ? Buffer.from(Array.from({ length: 5_000_000 }, (_, at) => (at * at * 31) >> 7)) : Buffer.from(`Content of ${name}`);
    writeFileSync(path, content);
    files[name] = createHash("sha256").update(content).digest("hex");
    return path;
  });
  await unlock(driver);
  await driver.type("[data-testid=files-input]", paths.join("\n"));
  await start(driver, "Letters");
  picture("webkit-end", await driver.picture());
  expect(restored()).toEqual(files);
  await browse(driver, "Letters");
  await driver.press("letter.txt");
  await driver.see("Content of letter.txt");
  picture("webkit-browse", await driver.picture());
});

test("a browser without private storage is told what it lacks", async () => {
  driver = await Driver.webkit(machine.path("webkit"), "-FileSystem");
  await driver.open(machine.url);
  await driver.see("private storage");
  picture("webkit-lacks", await driver.picture());
});

/** What Safari has, and Debian's WebKitGTK leaves off. */
const STORAGE = "+FileSystem,+FileSystemWritableStream,+StorageAPI,+StorageAPIEstimate";
const ENTER = "\ue007";
