//! Letting others in, as people do it: a device is enrolled in the page and joins in another browser; a passphrase is replaced, and a
//! recovery code noted.

import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";

import { Machine, PASSPHRASE, generate, launch } from "./kit";

let browser: Browser;
const web = inject("product");
const machine = new Machine();
const strays: string[] = [];

beforeAll(async () => {
  browser = await launch();
  machine.init();
  await machine.serve(web);
});
afterAll(async () => {
  await browser?.close();
  await machine.end();
  expect(strays).toEqual([]);
});

/** A person's browser. */
async function anybody(): Promise<BrowserContext> {
  const context = await browser.newContext();
  context.setDefaultTimeout(60_000);
  context.on("console", (message) => {
    if (/Content Security Policy|Trusted|Refused/i.test(message.text())) strays.push(message.text());
  });
  context.on("weberror", (error) => strays.push(`error: ${error.error().message}`));
  await context.addInitScript(() => Reflect.deleteProperty(window, "showDirectoryPicker"));
  return context;
}

async function open(context: BrowserContext, address: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(address);
  return page;
}

async function unlock(page: Page, passphrase: string): Promise<void> {
  await page.getByRole("textbox", { name: "Passphrase" }).fill(passphrase);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Settings" }).waitFor();
}

async function confirm(page: Page, passphrase: string): Promise<void> {
  await page.getByLabel("Confirm with your passphrase").fill(passphrase);
  await page.getByRole("button", { name: "Continue" }).click();
}

const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true }).click();

test("a device that is enrolled in the page joins by its link in another browser, backs up there, and is in the list", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 10, large: 1 << 20 });
  const context = await anybody();
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: machine.url });
  const page = await open(context, machine.url);
  await unlock(page, PASSPHRASE);
  await page.getByRole("link", { name: "Devices" }).click();
  await press(page, "Add a device");
  await confirm(page, "no");
  await page.getByText("That is not the passphrase").waitFor();
  await confirm(page, PASSPHRASE);
  await page.getByLabel("Name", { exact: true }).fill("Ben's phone");
  await page.getByLabel("Days that the link works").fill("3");
  await press(page, "Make the link");
  await page.getByRole("img", { name: "QR code of the link" }).waitFor();
  const link = await page.getByLabel("Link", { exact: true }).inputValue();
  await press(page, "Copy");
  await page.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(link);
  // Nothing but the dialog has it: a click beside it and Escape do not lose it, and once it has ended it is nowhere.
  await page.keyboard.press("Escape");
  await page.mouse.click(5, 5);
  expect(await page.getByLabel("Link", { exact: true }).inputValue()).toBe(link);
  await press(page, "Done");
  const invited = page.getByRole("listitem").filter({ hasText: "Ben's phone" });
  await invited.getByText(/^Invited/).waitFor();
  const line = link.slice(link.indexOf("COPAL"));
  const kept = await page.evaluate(async () => {
    const told: unknown[] = [document.documentElement.outerHTML, location.href, history.state, { ...localStorage }, { ...sessionStorage }];
    for (const { name } of await indexedDB.databases()) {
      const database = await new Promise<IDBDatabase>((resolve) => { const asked = indexedDB.open(name!); asked.onsuccess = () => resolve(asked.result); });
      for (const store of database.objectStoreNames) {
        told.push(await new Promise((resolve) => { const asked = database.transaction(store).objectStore(store).getAll(); asked.onsuccess = () => resolve(asked.result); }));
      }
      database.close();
    }
    return JSON.stringify(told);
  });
  expect(kept).not.toContain(line.slice(40));

  const phone = await anybody();
  const there = await open(phone, link);
  await press(there, "Join");
  await there.getByTestId("folder-input").setInputFiles(folder);
  await there.getByRole("textbox", { name: "Name of the backup" }).fill("Photos");
  await press(there, "Start backup");
  await there.getByText("Photos is backed up").waitFor({ timeout: 150_000 });
  await phone.close();

  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("link", { name: "Devices" }).click();
  await invited.getByText(/^Since/).waitFor();
  await invited.getByText("1 snapshot kept").waitFor();
  await context.close();
});

test("a passphrase is replaced and a recovery code noted, and the new ones open the page", async () => {
  const context = await anybody();
  const page = await open(context, machine.url);
  await unlock(page, PASSPHRASE);
  await page.getByRole("link", { name: "Settings" }).click();
  await press(page, "Show them");
  const current = page.getByRole("listitem").filter({ hasText: "Opened this page" });
  await current.getByRole("button", { name: /^Replace/ }).click();
  await confirm(page, PASSPHRASE);
  await page.getByLabel("New passphrase", { exact: true }).fill("short");
  await page.getByText("Easy to guess").waitFor();
  await page.getByLabel("New passphrase", { exact: true }).fill("a mountain in summer");
  await page.getByText("Easy to guess").waitFor({ state: "detached" });
  await page.getByLabel("The same again", { exact: true }).fill("a mountain in summer!");
  await press(page, "Replace");
  await page.getByText("The two passphrases differ").waitFor();
  await page.getByLabel("The same again", { exact: true }).fill("a mountain in summer");
  await press(page, "Replace");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await current.waitFor();
  expect(() => machine.copal(["key", "list"])).toThrow();

  await press(page, "Make a recovery code");
  await confirm(page, "a mountain in summer");
  const code = await page.getByText(/^copal-recovery-1-/).innerText();
  await page.getByLabel("Its last group").fill("1111111");
  await press(page, "I have noted it");
  await page.getByText("That is not its last group").waitFor();
  await page.getByLabel("Its last group").fill(code.split("-").at(-1)!.toLowerCase());
  await press(page, "I have noted it");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(() => page.getByRole("heading", { name: "Recovery code", level: 2 }).count()).toBe(2);
  expect(await page.content()).not.toContain(code);

  // With the code in hand the passphrase goes; with nothing but itself it would stay.
  await current.getByRole("button", { name: /^Remove/ }).click();
  await confirm(page, "a mountain in summer");
  await page.getByText("You have confirmed with this very key").waitFor();
  await press(page, "Keep it");
  await current.getByRole("button", { name: /^Remove/ }).click();
  await press(page, "Use a recovery code");
  await page.getByLabel("Confirm with your recovery code").fill(code);
  await press(page, "Continue");
  await press(page, "Remove");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(() => page.getByRole("heading", { name: /^Passphrase/, level: 2 }).count()).toBe(0);
  machine.copal(["key", "list"], { COPAL_PASSWORD: code });
  await context.close();
});
