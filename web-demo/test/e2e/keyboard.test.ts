//! Keyboard: the page as it is served, used by keys alone. After each step the focus is where the work goes on.

import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, inject, test } from "vitest";

import { PASSPHRASE } from "./kit";
import { browsed, browser, machine, served } from "./setting";

let page: Page;

browsed();
served(inject("product"));
beforeEach(async () => {
  const context = await browser.newContext({ acceptDownloads: true });
  page = await context.newPage();
  page.setDefaultTimeout(60_000);
  // Nobody can answer the browser's own dialogs: a folder is given, and a download goes where downloads go.
  await page.addInitScript(() => {
    Object.assign(window, {
      showDirectoryPicker: async ({ id }: { id: string }) => {
        const root = await navigator.storage.getDirectory();
        if (id === "copal-restore") return root.getDirectoryHandle("Restored", { create: true });
        const diary = await root.getDirectoryHandle("Diary", { create: true });
        for (const year of ["2024", "2025", "2026"]) {
          const folder = await diary.getDirectoryHandle(year, { create: true });
          const file = await (await folder.getFileHandle("day.txt", { create: true })).createWritable();
          await file.write(`the days of ${year}\n`);
          await file.close();
        }
        return diary;
      },
    });
    Reflect.deleteProperty(window, "showSaveFilePicker");
  });
  await page.goto(machine.url);
});
afterEach(async () => {
  await page.context().close();
});

/** What has the focus: its role or kind, and its name. */
const focus = () => page.evaluate(() => {
  const element = document.activeElement as HTMLElement | null;
  const name = element?.getAttribute("aria-label") ?? (element?.closest("label") ?? element)?.textContent?.trim() ?? "";
  return `${element?.getAttribute("role") ?? element?.tagName.toLowerCase()}: ${element?.id === "secret" ? "secret" : name}`;
});
const hasFocus = (what: string) => expect.poll(focus, { timeout: 60_000 }).toBe(what);
const row = () => page.evaluate(() => document.getElementById(document.activeElement?.getAttribute("aria-activedescendant") ?? "")?.querySelector("bdi")?.textContent ?? "");
const press = (...keys: string[]) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());

/** Goes to something by Tab alone. */
async function tabTo(what: string, most: number): Promise<void> {
  for (let i = 0; i < most && (await focus()) !== what; i++) await press("Tab");
  expect(await focus()).toBe(what);
}

const restoredDay = () => page.evaluate(async () => {
  const root = await (await navigator.storage.getDirectory()).getDirectoryHandle("Restored");
  const walk = async (folder: FileSystemDirectoryHandle): Promise<string> => {
    for await (const child of folder.values()) {
      const text = child.kind === "file" ? await (await (child as FileSystemFileHandle).getFile()).text() : await walk(child as FileSystemDirectoryHandle);
      if (text !== "") return text;
    }
    return "";
  };
  return walk(root);
});

async function backUpByKeys(): Promise<void> {
  await hasFocus("input: secret");
  await page.keyboard.type(PASSPHRASE);
  await press("Enter");
  await hasFocus("h1: Back up");
  await tabTo("button: Choose a folder", 2);
  await press("Enter");
  await page.getByRole("button", { name: "Start backup" }).waitFor();
  await hasFocus("h1: Back up");
  // From the heading: "Change", then the name, where Enter starts.
  await press("Tab", "Tab");
  expect(await page.evaluate(() => (document.activeElement as HTMLInputElement).value)).toBe("Diary");
  await press("Enter");
  await hasFocus("h1: Diary is backed up");
}

test("a backup, looking into it, a download of one file and a restore take keys alone", async () => {
  await backUpByKeys();
  await tabTo("button: See all snapshots", 4);
  await press("Enter");
  await hasFocus("h1: Restore");
  await page.getByRole("grid", { name: "Snapshots" }).waitFor();
  await tabTo("grid: Snapshots", 6);
  await press("Enter");
  await hasFocus("grid: Folder");
  await expect.poll(row).toBe("Diary");
  await press("Enter");
  await page.getByRole("heading", { name: "Diary" }).waitFor();
  await hasFocus("grid: Folder");
  await expect.poll(row).toBe("2024");
  await press("ArrowDown", "ArrowDown");
  await expect.poll(row).toBe("2026");
  await press("Enter");
  await expect.poll(row).toBe("day.txt");
  await hasFocus("grid: Folder");
  await press("Enter");
  await page.getByText("the days of 2026").waitFor();
  await tabTo("button: Download", 4);
  const [download] = await Promise.all([page.waitForEvent("download"), press("Enter")]);
  expect(readFileSync(await download.path(), "utf8")).toBe("the days of 2026\n");
  await hasFocus("button: Download");
  await press("Escape");
  await hasFocus("grid: Folder");
  await press("Shift+Tab");
  await hasFocus("input: List");
  await press("Shift+Tab");
  await hasFocus("button: Restore to… a folder of this computer: this folder");
  await press("Enter");
  await page.locator(".job.finished").getByText("2 files").waitFor();
  await hasFocus("button: Restore to… a folder of this computer: this folder");
  expect(await restoredDay()).toBe("the days of 2026\n");
  await press("Tab", "Tab");
  await hasFocus("grid: Folder");
  await press("Backspace");
  await page.getByRole("heading", { name: "Diary" }).waitFor();
  await hasFocus("grid: Folder");
  await expect.poll(row).toBe("2026");
  await tabTo("button: Clear what has finished", 8);
  await press("Enter");
  await page.getByRole("button", { name: "Clear what has finished" }).waitFor({ state: "detached" });
  await hasFocus("grid: Folder");
});
