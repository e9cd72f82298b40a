//! Series: what a phone does, files chosen one by one, and what the page warns of, on the page as people have it.

import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterEach, beforeEach, expect, inject, test } from "vitest";

import { PASSPHRASE, listing, lock } from "./kit";
import { browsed, browser, machine, served } from "./setting";

let context: BrowserContext;

browsed();
served(inject("product"));
beforeEach(async () => {
  context = await browser.newContext();
  context.setDefaultTimeout(60_000);
});
afterEach(async () => {
  await context.close();
});

async function open(): Promise<Page> {
  const page = await context.newPage();
  await page.goto(machine.url);
  await unlock(page);
  return page;
}

async function unlock(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: "Passphrase" }).fill(PASSPHRASE);
  await page.keyboard.press("Enter");
  // Exactly: "Unlock" is there before.
  await page.getByRole("button", { name: "Lock", exact: true }).waitFor();
}

/** Files that were written long ago. */
function photos(...names: string[]): string[] {
  const folder = machine.path("Camera");
  mkdirSync(folder, { recursive: true });
  return names.map((name) => {
    const path = join(folder, name);
    writeFileSync(path, `${name} `.repeat(9_000));
    utimesSync(path, 1_700_000_000, 1_700_000_000);
    return path;
  });
}

/** Backs up chosen files under the name that the page proposes, and gives how many were unchanged. */
async function backUp(page: Page, files: string[]): Promise<string> {
  await page.getByTestId("files-input").setInputFiles(files);
  await page.getByText("Each holds only the files that are chosen for it").waitFor();
  await page.getByRole("button", { name: "Start backup" }).click();
  await page.getByText("Verified by the service", { exact: true }).waitFor();
  return page.locator(".figures div").filter({ hasText: "Unchanged files" }).locator("dd").innerText();
}

const FORGETS = "This browser may forget that it is a device";

test("files that are chosen one by one are one series, whichever they are, and those of the last time are found again", async () => {
  const page = await open();
  await backUp(page, photos(...Array.from({ length: 41 }, (_, at) => `IMG_${at}.jpg`)));
  await page.getByRole("button", { name: "Back up something else" }).click();
  const [b, c, d] = photos("IMG_1.jpg", "IMG_2.jpg", "new.jpg");
  expect(await backUp(page, [b!, c!, d!])).toBe("2");
  await page.getByRole("button", { name: "Back up something else" }).click();
  // One alone is of the series too, and goes under no name of its own.
  expect(await backUp(page, [d!])).toBe("1");

  const snapshots = JSON.parse(machine.copal(["snapshots", "--json"])) as { id: string; label: string; paths: string[] }[];
  expect(snapshots.map(({ label, paths }) => ({ label, paths }))).toEqual(Array(3).fill({ label: "Chosen files", paths: [] }));
  machine.copal(["restore", snapshots.at(-1)!.id, "--target", "last"]);
  expect(Object.keys(listing(machine.path("last")))).toEqual(["new.jpg"]);
  // With several series the page would ask which of them to list.
  await page.getByRole("link", { name: "Restore" }).click();
  await page.getByText("3 snapshots", { exact: true }).waitFor();
});

test("a second tab says that only one can back up, and what to do, until the first is closed", async () => {
  const first = await open();
  const second = await open();
  const told = second.getByText("Only one tab can back up at a time. Go on there, or close it.");
  await told.waitFor();
  expect(await first.getByText("Copal is open in another tab").count()).toBe(0);
  await first.close();
  await told.waitFor({ state: "hidden" });
  // The next one is the second then.
  const third = await open();
  await third.getByText("Copal is open in another tab").waitFor();
  await lock(second);
  await third.getByText("Copal is open in another tab").waitFor({ state: "hidden" });
});

test("a device whose browser does not promise to keep its keys is warned of it once, and reads it in the settings", async () => {
  const page = await open();
  expect(await page.evaluate(() => navigator.storage.persisted()), "this browser promises nothing").toBe(false);
  // There is nothing to forget yet.
  expect(await page.getByText(FORGETS).count()).toBe(0);
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByText("registers with its first backup").waitFor();
  expect(await page.getByText(FORGETS).count()).toBe(0);
  expect(await page.getByRole("button", { name: "Forget this device" }).count()).toBe(0);

  await page.getByRole("link", { name: "Back up" }).click();
  await backUp(page, photos("a.jpg"));
  await page.getByText(FORGETS).waitFor();
  await page.getByText("The repository keeps every backup").waitFor();
  await page.getByRole("button", { name: "I have read it" }).click();
  await page.getByText(FORGETS).waitFor({ state: "hidden" });
  // The settings know of the device from its first backup on.
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByText(FORGETS).waitFor();
  await page.getByRole("button", { name: "Forget this device" }).waitFor();
  expect(await page.getByText("registers with its first backup").count()).toBe(0);

  await page.reload();
  await unlock(page);
  await page.getByRole("link", { name: "Status" }).click();
  await page.getByText("All backups are verified").waitFor();
  expect(await page.getByText(FORGETS).count()).toBe(0);
});

test("a device whose browser promises to keep its keys is warned of nothing", async () => {
  await context.addInitScript(() => {
    StorageManager.prototype.persisted = async () => false;
    StorageManager.prototype.persist = async () => true;
  });
  const page = await open();
  await backUp(page, photos("a.jpg"));
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Forget this device" }).waitFor();
  expect(await page.getByText(FORGETS).count()).toBe(0);
});
