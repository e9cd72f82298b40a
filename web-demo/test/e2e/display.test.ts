/** How the page behaves under a person's hands, over a scripted core. */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { SCENES, type Scene, loadedAnew } from "../app/scenes";
import { enter, PHONE, stageSet, type StageSet } from "../app/stage-set";

vi.setConfig({ testTimeout: 300_000 });
let set: StageSet;
beforeAll(async () => { set = await stageSet(); });
afterAll(async () => set?.close());

function scene(name: string): Scene {
  const found = SCENES.find((one) => one.name === name);
  if (!found) throw new Error(`no scene ${name}`);
  return found;
}

/** All that stands in the document, and in its fields. */
async function everything(page: Page): Promise<string> {
  return page.evaluate(() => document.documentElement.outerHTML + [...document.querySelectorAll("input, textarea")].map((field) => (field as HTMLInputElement).value).join("\n"));
}

describe("a secret", () => {
  test("is nowhere in the document once it was used", async () => {
    const { page } = await enter(set, scene("unlock"));
    await page.getByRole("textbox", { name: "Passphrase" }).fill("correct horse battery");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Back up" }).waitFor();
    expect(await everything(page)).not.toContain("horse");
  });
  test("is nowhere in the document once it was refused", async () => {
    const { page } = await enter(set, scene("unlock-wrong"));
    expect(await everything(page)).not.toContain("horse");
    await expect.poll(() => page.locator("#secret").evaluate((field) => document.activeElement === field)).toBe(true);
  });
  test("is nowhere in the document once a dialog has asked for it again", async () => {
    const refused = await enter(set, scene("keys-confirm-wrong"));
    expect(await everything(refused.page)).not.toContain("horse");
    const used = await enter(set, scene("keys-remove"));
    expect(await everything(used.page)).not.toContain("horse");
  });
  test("does not go over to another way of unlocking", async () => {
    const { page } = await enter(set, scene("unlock"));
    await page.locator("#secret").fill("correct horse battery");
    await page.getByRole("radio", { name: "Recovery code" }).check();
    expect(await everything(page)).not.toContain("horse");
  });
});

describe("a dialog", () => {
  test("that has to stay does, however often Escape is pressed, and the focus is in it", async () => {
    const { page } = await enter(set, scene("snapshots-signing"));
    for (let i = 0; i < 4; i++) {
      await page.keyboard.press("Escape");
      await expect.poll(() => page.locator("dialog[open]").count()).toBe(1);
      await page.getByRole("dialog").getByText("Signing…").waitFor();
    }
    await expect.poll(() => page.evaluate(() => document.activeElement?.closest("dialog") !== null)).toBe(true);
  });
});

describe("a locked page", () => {
  test("shows no name of what was looked at", async () => {
    const { page } = await enter(set, scene("browse"));
    // Without its server the page stays, and is loaded anew once the server is back.
    await page.context().setOffline(true);
    await page.getByRole("button", { name: "Lock", exact: true }).click();
    await page.getByText("The keys are gone from this page").waitFor();
    expect(await everything(page)).not.toContain("panorama");
    await page.context().setOffline(false);
    await loadedAnew(page);
    expect(await everything(page)).not.toContain("panorama");
    await page.goBack();
    expect(await everything(page)).not.toContain("panorama");
  });
});

describe("with the keyboard alone", () => {
  test("a folder is walked through, a file looked at, and the place found again", async () => {
    const { page } = await enter(set, scene("browse"));
    const grid = page.getByRole("grid");
    await grid.focus();
    await page.keyboard.press("End");
    const active = () => grid.evaluate((element) => document.getElementById(element.getAttribute("aria-activedescendant") ?? "")?.textContent ?? "");
    await expect.poll(active).toContain("東京の写真.jpg");
    await page.keyboard.press("ArrowUp");
    await expect.poll(active).toContain("README.txt");
    await page.keyboard.press(" ");
    await page.getByText("1 selected").waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("Lisbon, in March").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Lisbon, in March").waitFor({ state: "detached" });
    await expect.poll(() => grid.evaluate((element) => document.activeElement === element)).toBe(true);
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "2024" }).waitFor();
  });
  test("a warning is answered with Enter, and the page stays open", async () => {
    const { page } = await enter(set, scene("lock-soon"));
    await page.keyboard.press("Enter");
    await page.getByText("Still there?").waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "Back up" }).waitFor();
  });
  const focused = (page: Page) => page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.textContent}`);
  test("the start and the end of a backup leave the focus on the heading", async () => {
    for (const [name, heading] of [["running", "Backing up Pictures"], ["done", "Pictures is backed up"], ["ended-full", "The backup did not finish"], ["stopped", "Stopped"], ["ready", "Back up"]] as const) {
      const { page } = await enter(set, scene(name));
      await expect.poll(() => focused(page)).toBe(`H1 ${heading}`);
      await page.context().close();
    }
  });
  test("a backup that ends takes the focus from nobody who types", async () => {
    const { page } = await enter(set, { name: "typing", core: "done-later", steps: scene("running").steps!, shows: "41 %" });
    await page.getByRole("link", { name: "Restore" }).click();
    await page.getByRole("row").filter({ hasText: "Pictures" }).first().locator(".two").first().click();
    await page.getByRole("searchbox").fill("a");
    await page.getByText("8 names found").waitFor();
    await page.locator(".tab-note").waitFor();
    await page.locator(".tab-note").waitFor({ state: "detached" });
    expect(await page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("search");
  });
  test("a dialog that closes gives the focus to what goes on", async () => {
    const { page } = await enter(set, scene("settings-forget"));
    await page.keyboard.press("Escape");
    await page.getByText("Forget the cache?").waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toBe("BUTTON Forget the cache");
  });
  test("snapshots are ticked and forgotten, and a question that is left signs nothing", async () => {
    const { page } = await enter(set, scene("snapshots"));
    await page.getByRole("grid").focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Space");
    await page.getByText("2 snapshots ticked").waitFor();
    const forget = page.getByRole("button", { name: "Forget…" });
    await forget.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Forget 2 snapshots?" }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => forget.evaluate((button) => document.activeElement === button)).toBe(true);
    await page.keyboard.press("Enter");
    const sign = page.getByRole("button", { name: "Sign and forget" });
    await sign.focus();
    await page.keyboard.press("Enter");
    await page.getByText("Forgotten: 2 snapshots").first().waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).not.toBe("BODY");
  });
  test("the content is reached without passing the menu", async () => {
    const { page } = await enter(set, scene("choose"));
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("content");
  });
});

describe("the versions of a file", () => {
  test("are walked through with the keyboard, and a look at one gives the focus back", async () => {
    const { page } = await enter(set, scene("version-lines"));
    await page.keyboard.press("Escape");
    await page.getByText("lines removed").waitFor({ state: "detached" });
    const grid = page.getByRole("grid", { name: "Versions" });
    await expect.poll(() => grid.evaluate((element) => document.activeElement === element)).toBe(true);
    const active = () => grid.evaluate((element) => document.getElementById(element.getAttribute("aria-activedescendant") ?? "")?.textContent ?? "");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await expect.poll(active).toContain("Not in 2 snapshots");
    // Where it was not there, nothing is to be seen.
    await page.keyboard.press("Enter");
    await page.keyboard.press(" ");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("This version").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => grid.evaluate((element) => document.activeElement === element)).toBe(true);
    await page.goBack();
    await page.getByRole("grid", { name: "Folder" }).waitFor();
  });
  test("two that are ticked are compared, and lines that are the same are shown on demand", async () => {
    const { page } = await enter(set, { ...scene("versions-ticked"), core: "versions-text" });
    await page.getByRole("button", { name: "Compare" }).click();
    const table = page.getByRole("region", { name: "What differs" });
    await table.getByText("Porto, in April.").waitFor();
    await page.getByText("2 lines removed, 3 lines added").waitFor();
    // It was the older of the two that was ticked last.
    await table.getByText("changed 2026-11-10 08:00").waitFor();
    expect(await table.getByText("50. The raw files").count()).toBe(0);
    await page.getByRole("button", { name: "Show all lines" }).click();
    expect(await table.getByText("50. The raw files").count()).toBe(2);
  });
  test("lead to the preview's file and back", async () => {
    const { page } = await enter(set, scene("preview-versions"));
    await page.getByRole("dialog").getByRole("button", { name: "Versions" }).click();
    await page.getByRole("heading", { name: "Versions of README.txt" }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Versions");
  });
});

describe("a search in all snapshots", () => {
  test("opens a hit where it is, and is there again on the way back", async () => {
    const { page } = await enter(set, scene("seek-hits"));
    await page.getByRole("grid", { name: "Hits" }).focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "home/mara" }).waitFor();
    const grid = page.getByRole("grid", { name: "Folder" });
    await expect.poll(() => grid.evaluate((element) => document.getElementById(element.getAttribute("aria-activedescendant") ?? "")?.textContent ?? "")).toContain("README.txt");
    await page.goBack();
    await page.getByText("14 hits in 40 snapshots").waitFor();
    expect(await page.getByRole("searchbox").inputValue()).toBe("a");
  });
});

describe("the address", () => {
  test("names the screen and never a file, and back leads back", async () => {
    const { page } = await enter(set, scene("browse"));
    await page.getByText("2026", { exact: true }).click();
    await page.getByRole("heading", { name: "2026" }).waitFor();
    expect(new URL(page.url()).hash).toBe("#restore");
    expect(await page.evaluate(() => JSON.stringify(history.state))).toMatch(/^\{"step":\d+\}$/);
    await page.goBack();
    await page.getByRole("heading", { name: "Pictures" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Restore" }).waitFor();
    await page.goForward();
    await page.getByRole("heading", { name: "Pictures" }).waitFor();
  });
});

describe("ten thousand entries", () => {
  test("are some fifty rows in the document, wherever one is", async () => {
    const { page } = await enter(set, scene("browse-many"));
    const grid = page.getByRole("grid");
    for (const share of [0, 0.37, 0.99]) {
      await grid.evaluate((element, at) => { element.scrollTop = element.scrollHeight * at; }, share);
      await page.waitForFunction((at) => {
        const rows = [...document.querySelectorAll("[data-row]")].map((row) => Number((row as HTMLElement).dataset["row"]));
        return rows.length < 80 && Math.min(...rows) <= at * 10_000 + 1 && Math.max(...rows) >= Math.min(9_999, at * 10_000);
      }, share);
    }
  });
  test("are sorted by size at a click, the largest first", async () => {
    const { page } = await enter(set, scene("browse-many"));
    await page.getByRole("button", { name: "Size" }).click();
    await page.getByRole("grid").evaluate((element) => { element.scrollTop = 0; });
    const first = page.locator("[data-row='0']");
    await first.waitFor();
    await expect.poll(() => first.locator(".size").textContent()).toBe("22.0 MiB");
    expect(await page.getByRole("columnheader", { name: "Size" }).getAttribute("aria-sort")).toBe("descending");
  });
});

describe("nothing jumps", () => {
  test.each([["a wide window", undefined], ["a phone", PHONE]] as const)("while a backup runs, pauses, is offline and tries again, on %s", async (_name, viewport) => {
    const places: string[] = [];
    for (const name of ["running", "running-paused", "running-offline", "running-retrying", "running-verifying"]) {
      const { page } = await enter(set, scene(name), viewport ? { viewport } : {});
      places.push(await page.evaluate(() => [".progress", ".now", ".safe", ".figures", ".throughput"].map((one) => {
        const place = document.querySelector(one)?.getBoundingClientRect();
        return `${one} ${place?.top} ${one === ".safe" ? "" : place?.height}`;
      }).join(", ")));
      await page.context().close();
    }
    expect(new Set(places).size, places.join("\n")).toBe(1);
  });
});

describe("two snapshots of one minute", () => {
  test("show seconds in the list, when they are opened, and when they are compared", async () => {
    const { page } = await enter(set, scene("snapshots-twice"));
    await page.getByText("Today, 19:53:00").waitFor();
    await page.getByText("Today, 10:02", { exact: true }).waitFor();
    await page.locator("[data-row='0'] [data-tick]").click();
    await page.locator("[data-row='1'] [data-tick]").click();
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByText("Today, 19:53:00 → Today, 19:53:20").waitFor();
    await page.goBack();
    await page.locator("[data-row='1'] .two").first().click();
    await page.getByText("As it was today, 19:53:00").waitFor();
  });
});

describe("the tray of downloads", () => {
  const heightOf = (page: Page) => page.locator(".tray").evaluate((tray) => tray.getBoundingClientRect().height);
  const download = async (page: Page) => page.getByRole("button", { name: "Download zip" }).click();
  test("takes a fifth of the height at most, however much runs and is damaged", async () => {
    for (const name of ["downloading", "download-damaged"]) {
      const { page } = await enter(set, scene(name));
      for (let i = 0; i < 5; i++) await download(page);
      expect(await heightOf(page)).toBeLessThanOrEqual(820 / 5);
    }
  });
  test("is one line on a phone until it is opened", async () => {
    const { page } = await enter(set, scene("tray-closed"), { viewport: PHONE });
    await page.getByText("1 with trouble · 1 finished").waitFor();
    expect(await heightOf(page)).toBeLessThan(52);
    await page.getByText("1 with trouble").click();
    await page.getByText("not handed over").waitFor();
  });
  test("folds what has finished into one line, which one button clears", async () => {
    const { page } = await enter(set, scene("downloading"));
    for (let i = 0; i < 4; i++) await page.getByRole("button", { name: "Restore to…" }).click();
    await expect.poll(() => page.locator(".job.finished").textContent()).toContain("3,200 files");
    expect(await page.locator(".job").count()).toBe(2);
    await page.getByRole("button", { name: "Clear what has finished" }).click();
    await page.locator(".job.finished").waitFor({ state: "detached" });
    expect(await page.locator(".job").count()).toBe(1);
  });
});

describe("what is dropped on the page", () => {
  test("becomes a backup to be started, from any screen", async () => {
    const { page } = await enter(set, scene("status"));
    await page.evaluate(() => {
      const dropped = new DataTransfer();
      dropped.items.add(new File(["x"], "x"));
      dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, cancelable: true }));
    });
    await page.getByRole("button", { name: "Start backup" }).waitFor();
  });
});

describe("colours", () => {
  test("follow the system, and the settings where they say otherwise", async () => {
    const { page } = await enter(set, scene("settings"), { colorScheme: "light" });
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const becomes = (colour: string) => page.waitForFunction((wanted) => getComputedStyle(document.documentElement).backgroundColor === wanted, colour);
    const light = await ground();
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await ground();
    expect(dark).not.toBe(light);
    await page.getByRole("radio", { name: "Light" }).check();
    await becomes(light);
    await page.emulateMedia({ colorScheme: "light" });
    await page.getByRole("radio", { name: "Dark" }).check();
    await becomes(dark);
    await page.getByRole("radio", { name: "System" }).check();
    await becomes(light);
  });
});
