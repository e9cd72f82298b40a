//! The page as people have it, on the command as it is: everything is done by hand, in the display.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterEach, beforeEach, expect, inject, test } from "vitest";

import { PASSPHRASE, generate, listing, lock } from "./kit";
import { browsed, browser, machine, served } from "./setting";

declare global {
  interface Window {
    /** Begins to load what other screens need. */
    loadAhead: () => void;
  }
}

const web = inject("product");
let context: BrowserContext;
let strays: string[];

afterEach(() => expect(strays).toEqual([]));
browsed();
served(web);
beforeEach(async () => {
  strays = [];
  context = await anybody();
});
afterEach(async () => {
  await context.close();
});

/** A person's browser, without the dialogs that no test can answer. */
async function anybody(): Promise<BrowserContext> {
  const made = await browser.newContext({ acceptDownloads: true });
  made.setDefaultTimeout(150_000);
  await made.addInitScript(() => {
    for (const name of ["showDirectoryPicker", "showSaveFilePicker"]) Reflect.deleteProperty(window, name);
  });
  made.on("request", (request) => {
    if (!/^(blob|data):/.test(request.url()) && new URL(request.url()).origin !== new URL(machine.url).origin) strays.push(request.url());
  });
  made.on("console", (message) => {
    if (/Content Security Policy|Trusted|Refused/i.test(message.text())) strays.push(message.text());
  });
  made.on("weberror", (error) => strays.push(`error: ${error.error().message}`));
  return made;
}

async function open(address = machine.url): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(address);
  return page;
}

async function unlock(page: Page, passphrase = PASSPHRASE): Promise<void> {
  await page.getByRole("textbox", { name: "Passphrase" }).fill(passphrase);
  await page.keyboard.press("Enter");
}

/** Chooses a folder, backs it up, and waits until the service has verified it. */
async function backUp(page: Page, folder: string, label: string): Promise<void> {
  await page.getByTestId("folder-input").setInputFiles(folder);
  await page.getByRole("textbox", { name: "Name of the backup" }).fill(label);
  await page.getByText("Not in this backup: names that are not text, empty folders, links and permissions").waitFor();
  await page.getByRole("button", { name: "Start backup" }).click();
  await page.getByText(`${label} is backed up`).waitFor({ timeout: 150_000 });
  await page.getByText("Verified by the service", { exact: true }).waitFor();
}

/** The only snapshot, as the command restores it. */
function restored(): Record<string, string> {
  const [{ id }] = JSON.parse(machine.copal(["snapshots", "--json"])) as [{ id: string }];
  machine.copal(["restore", id, "--target", "out"]);
  return listing(machine.path("out"));
}

function under(top: string, files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, hash]) => [`${top}/${path}`, hash]));
}

function link(role: "full" | "write-only"): string {
  const added = JSON.parse(machine.copal(["client", "add", "--name", "phone", "--role", role, "--page", machine.url, "--json"])) as { link: string };
  expect(added.link.startsWith(`${machine.url}/#join=`)).toBe(true);
  return added.link;
}

test("with the passphrase a folder is backed up, browsed, searched, looked at, and downloaded as it was", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 300, large: 6 << 20 });
  mkdirSync(join(folder, "ten thousand"));
  for (let at = 0; at < 10_000; at++) {
    const path = join(folder, "ten thousand", `${String(at).padStart(5, "0")}.txt`);
    writeFileSync(path, String(at));
    utimesSync(path, 1_700_000_000, 1_700_000_000);
  }
  const expected = listing(folder);
  const page = await open();
  await unlock(page, "no");
  await page.getByText("That is not the passphrase").waitFor();
  await unlock(page);
  await backUp(page, folder, "Photos");
  expect(restored()).toEqual(under("Pictures", expected));

  await page.getByRole("link", { name: "Restore" }).click();
  await page.getByRole("row").filter({ hasText: "Photos" }).locator(".two").first().click();
  await page.getByText("Pictures", { exact: true }).click();
  await page.getByRole("heading", { name: "Pictures" }).waitFor();
  await page.getByRole("searchbox").fill("ÜBERGR");
  await page.getByText("1 name found").waitFor();
  await page.getByRole("grid", { name: "Names found" }).getByText("übergrößen").click();
  await page.getByText("Grüße").waitFor();
  // A browser has saved it, which sees no permissions.
  expect(await page.locator(".preview-facts").innerText()).not.toContain("rw-");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  // A dialog gives the focus back as it goes: what is typed before that goes elsewhere, and a person types it again.
  await expect.poll(async () => {
    await page.getByRole("searchbox").fill("");
    return page.getByRole("grid", { name: "Folder" }).waitFor({ timeout: 10_000 }).then(() => true, () => page.locator("main").innerText());
  }, { timeout: 60_000 }).toBe(true);
  await page.getByText("ten thousand", { exact: true }).click();
  await page.getByText("10,000 entries", { exact: true }).waitFor();
  const grid = page.getByRole("grid", { name: "Folder" });
  await grid.focus();
  await page.keyboard.press("End");
  await page.getByText("09999.txt").waitFor();
  expect(await page.locator("[data-row]").count()).toBeLessThan(80);
  await page.getByRole("navigation", { name: "Where you are" }).getByRole("button", { name: "Photos" }).click();

  const arriving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download zip" }).click();
  const arrived = await arriving;
  expect(arrived.suggestedFilename()).toBe("Photos.zip");
  await page.getByText("Every byte was verified").waitFor();
  execFileSync("unzip", ["-q", await arrived.path(), "-d", machine.path("unzipped")]);
  expect(listing(machine.path("unzipped"))).toEqual(under("Pictures", expected));
});

test("a passphrase is typed while the engine is still on its way", async () => {
  const page = await context.newPage();
  let go = (): void => undefined;
  const typed = new Promise<void>((resolve) => { go = resolve; });
  await context.route("**/*.wasm", async (route) => { await typed; await route.continue(); });
  await page.goto(machine.url);
  await unlock(page);
  await page.getByRole("button", { name: "Unlocking…" }).waitFor();
  go();
  await page.getByRole("heading", { name: "Back up" }).waitFor();
});

/** The folders that the page remembers, once the first one is changed so. */
function remembered(page: Page, change: object = {}): Promise<unknown[]> {
  return page.evaluate(async (change) => {
    const done = <T>(request: IDBRequest<T>) => new Promise<T>((resolve) => { request.onsuccess = () => resolve(request.result); });
    const database = await done(indexedDB.open("copal"));
    const folders = database.transaction("folders", "readwrite").objectStore("folders");
    const [first, ...others] = await done(folders.getAll());
    if (first) await done(folders.put({ ...first, ...change }));
    database.close();
    return first ? [{ ...first, handle: null, ...change }, ...others] : [];
  }, change);
}

test("until a backup begins the page loads few bytes, and nothing of what seals", async () => {
  const folder = machine.path("Letters");
  generate(folder, { files: 5, large: 0 });
  const first = await open();
  await unlock(first);
  await backUp(first, folder, "Letters");

  const visitor = await anybody();
  // The page loads other screens ahead a second after it is open; here when it is told, so that both sums are always the same.
  await visitor.addInitScript(() => {
    const later = window.setTimeout.bind(window);
    window.setTimeout = ((work: () => void, ms?: number) => (ms === 1_000 ? void (window.loadAhead = work) : later(work, ms))) as typeof window.setTimeout;
  });
  const loaded: Record<string, number> = {};
  visitor.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (!pathname.startsWith("/v1/")) loaded[pathname] = Number(response.headers()["content-length"]);
  });
  const sum = () => Object.values(loaded).reduce((sum, bytes) => sum + bytes, 0);
  const lacks = (...names: string[]) => names.filter((name) => !Object.keys(loaded).some((path) => path.startsWith(`/assets/${name}-`)));
  const page = await visitor.newPage();
  await page.goto(machine.url);
  await unlock(page);
  await page.getByRole("link", { name: "Restore" }).click();
  await page.locator(".two", { hasText: "Letters" }).first().waitFor();
  expect(sum(), JSON.stringify(loaded)).toBeLessThanOrEqual(400_000);

  await page.evaluate(() => window.loadAhead());
  await expect.poll(() => lacks("devices", "settings", "offline", "status", "share", "shares", "kept", "enrolling", "keys")).toEqual([]);
  expect(sum(), JSON.stringify(loaded)).toBeLessThanOrEqual(443_000);

  const ofBackups = ["sealing_bg", "backing", "restoring"];
  await page.getByRole("link", { name: "Back up" }).click();
  await page.getByTestId("folder-input").setInputFiles(folder);
  await page.getByRole("button", { name: "Start backup" }).waitFor();
  expect(lacks(...ofBackups)).toEqual(ofBackups);
  await page.getByRole("button", { name: "Start backup" }).click();
  await expect.poll(() => lacks(...ofBackups)).toEqual(["restoring"]);
  await visitor.close();
});

test("a folder is backed up by itself when the page is opened, and the system tells its end to whoever looks elsewhere", async () => {
  await context.addInitScript(() => {
    const told: string[] = [];
    // Nobody is there to answer the browser's dialogs.
    const Notification = class { static permission = "granted"; static requestPermission = async () => "granted"; constructor(title: string) { told.push(title); } };
    const showDirectoryPicker = async () => {
      const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("Diary", { create: true });
      const file = await (await folder.getFileHandle("today.txt", { create: true })).createWritable();
      await file.write("today");
      await file.close();
      return folder;
    };
    document.hasFocus = () => false;
    Object.assign(window, { told, Notification, showDirectoryPicker });
  });
  const page = await open();
  await unlock(page);
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("radiogroup", { name: "Notifications" }).getByRole("radio", { name: "On" }).check();
  await page.getByRole("link", { name: "Back up" }).click();
  await page.getByRole("button", { name: "Choose a folder" }).click();
  await page.getByRole("button", { name: "Start backup" }).click();
  await page.getByText("Diary is backed up").waitFor();
  expect(await page.evaluate(() => (window as unknown as { told: string[] }).told)).toEqual(["Diary is backed up"]);
  await page.getByRole("button", { name: "Back up something else" }).click();
  const box = page.getByRole("checkbox", { name: "Back up when this page is opened" });
  await box.check();
  // The browser may lose what a page writes while it goes.
  await expect.poll(() => remembered(page)).toMatchObject([{ automatic: true }]);

  // Not again so soon; half a day later it is.
  await page.reload();
  await unlock(page);
  await box.waitFor();
  expect(await box.isChecked()).toBe(true);
  const [{ lastBackup }] = await remembered(page) as [{ lastBackup: number }];
  await remembered(page, { lastBackup: lastBackup - 13 * 3_600_000 });
  expect((JSON.parse(machine.copal(["snapshots", "--json"])) as unknown[]).length).toBe(1);
  await page.reload();
  await unlock(page);
  await page.getByText("Diary is backed up").waitFor();
  expect((JSON.parse(machine.copal(["snapshots", "--json"])) as unknown[]).length).toBe(2);
});

test("the page can be installed: its manifest has no mistake, and its icons are as large as it says", async () => {
  const page = await open();
  const devtools = await context.newCDPSession(page);
  const { data, errors } = await devtools.send("Page.getAppManifest");
  expect(errors).toEqual([]);
  const { icons } = JSON.parse(data!) as { icons: { src: string; sizes: string }[] };
  const sizes = await page.evaluate((icons) => Promise.all(icons.map(async ({ src }) => {
    const icon = await createImageBitmap(await (await fetch(src)).blob()).catch(() => null);
    return icon ? `${icon.width}x${icon.height}` : "any";
  })), icons);
  expect(sizes).toEqual(icons.map(({ sizes }) => sizes));
});

test("a link that is opened where the page is already is taken as well, and does not stay in the address", async () => {
  const page = await open();
  await page.getByRole("textbox", { name: "Passphrase" }).waitFor();
  const loads: string[] = [];
  page.on("request", (request) => { if (request.isNavigationRequest()) loads.push(request.url()); });
  await page.goto(link("write-only"));
  await page.getByText("Back up from this browser").waitFor();
  expect(page.url()).not.toContain("join");
  expect(loads).toEqual([]);
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("heading", { name: "Back up" }).waitFor();
});

test("a link that the command prints makes a browser one that adds backups, and is gone from the address and the history", async () => {
  const address = link("write-only");
  const page = await open(address);
  await page.getByText("Back up from this browser").waitFor();
  expect(page.url().split("#")[0]).toBe(`${machine.url}/`);
  expect(page.url()).not.toContain("join");
  expect(await page.evaluate(() => history.length)).toBeLessThanOrEqual(2);
  await page.getByRole("textbox", { name: "Name of this device" }).fill("Phone");
  await page.getByRole("button", { name: "Join" }).click();
  const folder = machine.path("Camera");
  generate(folder, { files: 40, large: 1 << 20 });
  await backUp(page, folder, "Camera");
  expect(restored()).toEqual(under("Camera", listing(folder)));
  expect(await page.evaluate(() => document.documentElement.outerHTML + JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie + location.href)).not.toContain("COPAL-JOIN");
  // It opens itself the next time, and what is kept of its signing keys cannot be taken out.
  await page.reload();
  await page.getByRole("heading", { name: "Back up" }).waitFor();
  expect(await keys(page)).toEqual(["Ed25519 false", "Ed25519 false"]);
});

test("the link of a full device asks for the passphrase too, and opens what keeps its key slots closed, again after a lock", async () => {
  await machine.kill("SIGTERM");
  await machine.serve(web, [], false);
  const address = link("full");
  const stranger = await open();
  await stranger.getByRole("radio", { name: "Passphrase" }).check();
  await unlock(stranger);
  await stranger.getByText("does not let a browser in by passphrase alone").waitFor();
  // Pasted, as it is.
  await stranger.getByRole("radio", { name: "Enrollment" }).check();
  await stranger.locator("#secret").fill(`${address}\n`);
  await stranger.getByRole("button", { name: "Join" }).click();
  await stranger.getByText("Make this browser a full device").waitFor();
  await unlock(stranger, "no");
  await stranger.getByText("That is not the passphrase").waitFor();
  await unlock(stranger);
  const folder = machine.path("Desk");
  generate(folder, { files: 40, large: 1 << 20 });
  await backUp(stranger, folder, "Desk");
  expect(restored()).toEqual(under("Desk", listing(folder)));
  const clients = JSON.parse(machine.copal(["client", "list", "--json"])) as { name: string; role: string; joined: boolean }[];
  expect(clients.filter(({ joined }) => joined).map(({ name, role }) => `${name} ${role}`)).toContain("phone full");

  await lock(stranger);
  await unlock(stranger);
  await stranger.getByRole("link", { name: "Restore" }).click();
  await stranger.getByRole("row").filter({ hasText: "Desk" }).waitFor();
  expect(await keys(stranger)).toEqual(["Ed25519 false", "Ed25519 false"]);

  const other = await anybody();
  const thief = await other.newPage();
  await thief.goto(address);
  await unlock(thief);
  await thief.getByText("has joined with this enrollment already").waitFor();
  await other.close();
});

/** The signing keys that the browser keeps: their kind, and whether they could be taken out. */
async function keys(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const database = await new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open("copal");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    const rows = await new Promise<{ signing: Record<string, CryptoKey> | null }[]>((resolve) => {
      const request = database.transaction("devices").objectStore("devices").getAll();
      request.onsuccess = () => resolve(request.result);
    });
    return rows.flatMap(({ signing }) => Object.values(signing ?? {}).map((key) => `${key.algorithm.name} ${key.extractable}`));
  });
}

test("an older version of a file is found, compared with the one before, and taken out", async () => {
  const folder = machine.path("Notes");
  mkdirSync(folder);
  const write = (content: string, day: number) => {
    writeFileSync(join(folder, "plan.txt"), content);
    utimesSync(join(folder, "plan.txt"), new Date(2026, 0, day), new Date(2026, 0, day));
  };
  const page = await open();
  await unlock(page);
  for (const [day, content] of [[1, "one\ntwo\nthree\n"], [2, "one\n2\nthree\n"], [3, "one\n2\nthree\nfour\n"]] as const) {
    write(content, day);
    await backUp(page, folder, "notes");
    if (day < 3) await page.getByRole("button", { name: "Back up something else" }).click();
  }
  await page.getByRole("link", { name: "Restore" }).click();
  await page.getByRole("button", { name: "Search all snapshots" }).click();
  await page.getByRole("searchbox", { name: "Name" }).fill("pl*.TXT");
  await page.getByText("1 hit in 3 snapshots").waitFor();
  await page.getByText("In 3 snapshots, from").click();
  await page.getByRole("heading", { name: "Notes" }).waitFor();
  await page.getByRole("row").filter({ hasText: "plan.txt" }).locator("[data-tick]").click();
  await page.getByRole("button", { name: "Versions" }).click();
  await page.getByText("3 versions in 3 snapshots").waitFor();
  await page.getByRole("row").filter({ hasText: "Shrank by 2 B" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("1 line removed, 1 line added").waitFor();
  expect(await dialog.locator("td.removed .words").textContent()).toBe("two");
  expect(await dialog.locator("td.added .words").textContent()).toBe("2");
  const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: /^Download/ }).click()]);
  expect(readFileSync(await download.path(), "utf8")).toBe("one\n2\nthree\n");
});
