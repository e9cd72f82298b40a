//! Language: the page speaks that of the browser until another one is chosen, in the settings or on the locked page.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";

import { Machine, PASSPHRASE, launch, lock } from "./kit";

let browser: Browser;
const web = inject("product");
let machine: Machine;

beforeAll(async () => {
  browser = await launch();
  machine = new Machine();
  machine.init();
  await machine.serve(web);
});
afterAll(async () => {
  await browser?.close();
  await machine?.end();
});

/** Opens the page as somebody with this language, and goes on whatever language the page then speaks. */
async function visit(locale: string): Promise<Page> {
  const context = await browser.newContext({ locale });
  context.setDefaultTimeout(150_000);
  await context.addInitScript(() => Reflect.deleteProperty(window, "showDirectoryPicker"));
  const page = await context.newPage();
  await page.goto(machine.url);
  return page;
}

async function unlock(page: Page): Promise<void> {
  await page.locator("#secret").fill(PASSPHRASE);
  await page.keyboard.press("Enter");
  await page.locator("button.lock").waitFor();
}

const go = (page: Page, screen: "restore" | "settings") => page.locator(`a[href="#${screen}"]`).click();
const heading = (page: Page, name: string) => page.getByRole("heading", { name, exact: true, level: 1 }).waitFor();
const speaks = (page: Page, language: "de" | "en") => expect.poll(() => page.locator("html").getAttribute("lang")).toBe(language);
/** The newest snapshot of the list. */
const newest = async (page: Page, says: RegExp) => {
  await go(page, "restore");
  await page.locator("[data-row='0']", { hasText: says }).waitFor();
};

test("a German browser reads German, until English is chosen in the settings; then all of it is English until the browser's is chosen again", async () => {
  const folder = machine.path("Bilder");
  mkdirSync(folder);
  for (let at = 0; at < 1_200; at++) writeFileSync(join(folder, `${at}.txt`), `${at}`);
  writeFileSync(join(folder, "film.bin"), Buffer.alloc(1.5 * 1024 * 1024));

  const page = await visit("de-DE");
  await heading(page, "Sicherungen entsperren");
  await speaks(page, "de");
  await page.getByRole("button", { name: "Entsperren", exact: true }).click();
  await page.getByText("Geben Sie die Passphrase ein.").waitFor();

  await unlock(page);
  await page.getByTestId("folder-input").setInputFiles(folder);
  await page.locator("button[type=submit].main").click();
  await page.locator(".receipt").waitFor();
  expect(await page.locator(".figures").textContent()).toContain("1.201");
  await newest(page, /(Heute|Gestern), \d\d:\d\d.*1,50 MiB/s);

  await go(page, "settings");
  await heading(page, "Einstellungen");
  await page.evaluate(() => Object.assign(window, { isOld: true }));
  await page.getByRole("radiogroup", { name: "Sprache" }).getByRole("radio", { name: "English" }).check();
  await heading(page, "Settings");
  await speaks(page, "en");
  await newest(page, /(Today|Yesterday), \d\d:\d\d.*1\.50 MiB/s);
  expect(await page.evaluate(() => "isOld" in window)).toBe(true);

  await page.reload();
  await heading(page, "Unlock your backups");
  await speaks(page, "en");
  await unlock(page);
  await lock(page);
  await page.getByText("Locked. The keys are gone from this page.").waitFor();

  await unlock(page);
  await go(page, "settings");
  const languages = page.getByRole("radiogroup", { name: "Language" });
  expect(await languages.getByRole("radio", { name: "English" }).isChecked()).toBe(true);
  await languages.getByRole("radio", { name: "The browser’s" }).check();
  await heading(page, "Einstellungen");
  await speaks(page, "de");
  await page.reload();
  await heading(page, "Sicherungen entsperren");
  await page.context().close();
});

test("whoever cannot read the locked page chooses another language there, loses nothing that is typed, and keeps the choice", async () => {
  const page = await visit("en-GB");
  await heading(page, "Unlock your backups");
  await page.locator("#secret").fill(PASSPHRASE);
  const languages = page.locator(".languages");
  expect(await languages.getByRole("button", { name: "English" }).getAttribute("aria-pressed")).toBe("true");
  await languages.getByRole("button", { name: "Deutsch" }).click();
  await heading(page, "Sicherungen entsperren");
  await speaks(page, "de");
  expect(await languages.getByRole("button", { name: "Deutsch" }).getAttribute("aria-pressed")).toBe("true");
  expect(await page.locator("#secret").inputValue()).toBe(PASSPHRASE);
  await page.getByRole("button", { name: "Entsperren", exact: true }).click();
  await page.locator("button.lock").waitFor();
  await go(page, "settings");
  expect(await page.getByRole("radiogroup", { name: "Sprache" }).getByRole("radio", { name: "Deutsch" }).isChecked()).toBe(true);
  await page.reload();
  await heading(page, "Sicherungen entsperren");
  await page.context().close();
});
