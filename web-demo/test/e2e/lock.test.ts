//! Lock: a page that locks is loaded anew, in a browser with a profile on disk.

import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, writeFileSync } from "node:fs";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { afterEach, beforeEach, expect, inject, test } from "vitest";

import { FLAGS, PASSPHRASE, START } from "./kit";
import { machine, served } from "./setting";

const web = inject("product");
let context: BrowserContext;
let page: Page;

served(web);
beforeEach(async () => {
  const executablePath = process.env["COPAL_CHROMIUM"] ?? "/usr/bin/chromium";
  context = await chromium.launchPersistentContext(machine.path("profile"), { executablePath, args: FLAGS, acceptDownloads: true, timeout: START });
  page = await context.newPage();
  page.setDefaultTimeout(120_000);
  // A download goes where downloads go: nobody can answer a dialog.
  await page.addInitScript(() => Reflect.deleteProperty(window, "showSaveFilePicker"));
});
afterEach(async () => {
  await context.close();
});

async function unlock(): Promise<void> {
  await page.locator("#secret").fill(PASSPHRASE);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Back up" }).waitFor();
}

/** Puts a mark into the page's memory, which goes with it. */
const mark = () => page.evaluate(() => { Object.assign(window, { secretPlans: "secret plans.pdf" }); });
const isNew = () => page.evaluate(() => !("secretPlans" in window));

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest("hex");
}

test("a page that is locked is loaded anew, says why, and a large download that was just handed over arrives whole", async () => {
  const folder = machine.path("Films");
  mkdirSync(folder);
  const film = Buffer.alloc(400 << 20);
  for (let at = 0; at < film.length; at += 1 << 16) film.writeUInt32LE(at, at);
  writeFileSync(`${folder}/film.bin`, film);
  await page.goto(machine.url);
  await unlock();
  await page.getByTestId("folder-input").setInputFiles(folder);
  await page.getByRole("button", { name: "Start backup" }).click();
  await page.getByRole("heading", { name: "Films is backed up" }).waitFor();
  await page.getByRole("button", { name: "See all snapshots" }).click();
  await page.locator("[data-row='0']").click();
  await page.getByRole("row").getByText("Films", { exact: true }).click();
  await page.getByRole("row").filter({ hasText: "film.bin" }).locator("[data-tick]").click();
  await mark();
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download", exact: false }).first().click();
  await page.locator(".job.finished").waitFor();
  await page.getByRole("button", { name: "Lock", exact: true }).click();
  await page.getByText("Locked. The keys are gone from this page.").waitFor();
  await expect.poll(isNew).toBe(true);
  await page.getByText("Locked. The keys are gone from this page.").waitFor();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe("film.bin");
  expect(await download.failure()).toBeNull();
  expect(await sha256(await download.path())).toBe(await sha256(`${folder}/film.bin`));
  await page.reload();
  await page.getByText("Unlock your backups").waitFor();
  expect(await page.getByText("The keys are gone").count()).toBe(0);
});

test("a page that nobody has touched for a while is loaded anew, and says so", async () => {
  await page.clock.install();
  await page.goto(machine.url);
  await unlock();
  await mark();
  await page.clock.fastForward("15:01");
  await page.getByText("nobody was here for a while").waitFor();
  await expect.poll(isNew).toBe(true);
  await page.getByText("nobody was here for a while").waitFor();
});

test("a page whose server is away when it is locked is loaded anew once the server is back", async () => {
  await page.goto(machine.url);
  await unlock();
  await mark();
  await machine.kill();
  await page.getByRole("button", { name: "Lock", exact: true }).click();
  await page.getByText("The keys are gone").waitFor();
  expect(await isNew()).toBe(false);
  await machine.serve(web);
  await expect.poll(isNew, { timeout: 60_000 }).toBe(true);
  await page.getByText("The keys are gone").waitFor();
});

test("an enrollment link that waits when the page is locked is not lost", async () => {
  await page.goto(machine.url);
  await unlock();
  const link = /https?:\S+#join=\S+/.exec(machine.copal(["client", "add", "--name", "phone", "--role", "write-only", "--page", machine.url]))![0];
  await page.evaluate((hash) => { location.hash = hash; }, new URL(link).hash);
  await expect.poll(() => page.evaluate(() => location.hash)).not.toContain("join");
  await page.getByRole("button", { name: "Lock", exact: true }).click();
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByText("Write-only device").waitFor();
});
