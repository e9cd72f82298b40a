//! Shares: a link is made in the page, and opened by somebody who has nothing but the link.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";

import { Machine, PASSPHRASE, launch, listing } from "./kit";

const SHOTS = process.env["COPAL_SHOTS"];
const HTML = "<img src=x onerror=alert(1)>.txt";
let browser: Browser;
const web = inject("product");
let machine: Machine;
let owner: Page;
const strays: string[] = [];

beforeAll(async () => {
  browser = await launch();
  machine = new Machine();
  machine.init();
  const folder = machine.path("Lisbon");
  mkdirSync(join(folder, "raw"), { recursive: true });
  mkdirSync(join(folder, "empty"));
  writeFileSync(join(folder, "walk.txt"), "Lisbon, in March\n");
  writeFileSync(join(folder, HTML), "a name that is markup\n");
  writeFileSync(join(folder, "raw/none.bin"), "");
  // More than one stored object, and no whole number of pieces.
  writeFileSync(join(folder, "raw/large.bin"), randomBytes((17 << 20) + 12_345));
  await machine.serve(web);
  machine.copal(["backup", "Lisbon"], { COPAL_REPOSITORY: machine.url });
  owner = await (await anybody()).newPage();
  await owner.goto(machine.url);
  await owner.getByRole("textbox", { name: "Passphrase" }).fill(PASSPHRASE);
  await owner.keyboard.press("Enter");
});
afterAll(async () => {
  await browser?.close();
  await machine?.end();
});

/** A browser that was never here. */
async function anybody(options: Parameters<Browser["newContext"]>[0] = {}): Promise<BrowserContext> {
  const made = await browser.newContext({ acceptDownloads: true, permissions: ["clipboard-read", "clipboard-write"], ...options });
  made.setDefaultTimeout(60_000);
  await made.addInitScript(() => Reflect.deleteProperty(window, "showSaveFilePicker"));
  made.on("request", (request) => {
    if (!/^(blob|data):/.test(request.url()) && new URL(request.url()).origin !== new URL(machine.url).origin) strays.push(request.url());
  });
  made.on("console", (message) => {
    if (/Content Security Policy|Trusted|Refused/i.test(message.text())) strays.push(message.text());
  });
  made.on("weberror", (error) => strays.push(`error: ${error.error().message}`));
  return made;
}

/** Makes a link of the open folder, or of what is ticked, in the page; gives the link. */
async function share(openings: string, days = "7 days", name?: string): Promise<string> {
  await owner.getByRole("button", { name: /^Share…/ }).click();
  await owner.getByText("Whoever has the link").waitFor();
  if (name !== undefined) await owner.getByRole("textbox", { name: "Name" }).fill(name);
  await owner.getByRole("radio", { name: days }).check({ force: true });
  await owner.getByRole("radio", { name: openings }).check({ force: true });
  await owner.getByRole("button", { name: "Make the link" }).click();
  const field = owner.getByRole("textbox", { name: "The link" });
  await field.waitFor();
  const link = await field.inputValue();
  await owner.getByRole("button", { name: "Copy" }).click();
  await owner.getByText("Copied", { exact: true }).waitFor();
  expect(await owner.evaluate(() => navigator.clipboard.readText())).toBe(link);
  await owner.getByRole("button", { name: "Done" }).click();
  return link;
}

async function toFolder(): Promise<void> {
  await owner.getByRole("link", { name: "Restore" }).click();
  await owner.getByRole("row").filter({ hasText: "Lisbon" }).locator(".two").first().click();
  for (const name of machine.path("Lisbon").split("/").slice(1)) await owner.getByRole("grid", { name: "Folder" }).getByText(name, { exact: true }).click();
  await owner.getByText("walk.txt").waitFor();
}

async function visit(link: string, options: Parameters<Browser["newContext"]>[0] = {}): Promise<{ page: Page; asked: Request[] }> {
  const context = await anybody(options);
  const page = await context.newPage();
  const asked: Request[] = [];
  page.on("request", (request) => { if (request.url().startsWith(machine.url)) asked.push(request); });
  await page.goto(link);
  return { page, asked };
}

/** All that a request has told the server. */
async function told(request: Request): Promise<Buffer> {
  const head = `${request.method()} ${request.url()} ${JSON.stringify(await request.allHeaders())}`;
  return Buffer.concat([Buffer.from(head), request.postDataBuffer() ?? Buffer.alloc(0)]);
}

/** All that a page has stored in the browser, and what it shows of itself. */
async function kept(page: Page): Promise<Buffer> {
  const letters = await page.evaluate(async () => {
    const found = [JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, document.title, document.cookie, location.href])];
    const put = async (value: unknown): Promise<void> => {
      if (value instanceof Blob) return put(await value.arrayBuffer());
      if (value instanceof ArrayBuffer) return put(new Uint8Array(value));
      if (value instanceof Uint8Array) return void found.push(Array.from(value, (byte) => String.fromCharCode(byte)).join(""));
      if (typeof value !== "object" || value === null) return void found.push(String(value));
      for (const [name, part] of Object.entries(value)) {
        found.push(name);
        await put(part);
      }
    };
    const answered = <T>(request: IDBRequest<T>) => new Promise<T>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    for (const { name } of await indexedDB.databases()) {
      const database = await answered(indexedDB.open(name!));
      for (const table of database.objectStoreNames) {
        const rows = database.transaction(table).objectStore(table);
        await put(await Promise.all([answered(rows.getAllKeys()), answered(rows.getAll())]));
      }
    }
    for (const name of await caches.keys()) {
      const cache = await caches.open(name);
      for (const request of await cache.keys()) {
        found.push(name, request.url);
        await put(await (await cache.match(request))!.arrayBuffer());
      }
    }
    const visit = async (folder: FileSystemDirectoryHandle): Promise<void> => {
      for await (const [name, handle] of (folder as unknown as { entries(): AsyncIterable<[string, FileSystemHandle]> }).entries()) {
        found.push(name);
        if (handle.kind === "directory") await visit(handle as FileSystemDirectoryHandle);
        else await put(await (handle as FileSystemFileHandle).getFile());
      }
    };
    await visit(await navigator.storage.getDirectory());
    return found.join("\n");
  });
  return Buffer.from(letters, "latin1");
}

/** A link's key as somebody may have written it down. */
function formsOf(key: string): Buffer[] {
  const bytes = Buffer.from(key, "base64url");
  return [bytes, ...(["base64url", "base64", "hex"] as const).map((form) => Buffer.from(bytes.toString(form)))];
}

async function saved(page: Page, button: string | RegExp): Promise<{ name: string; path: string }> {
  const arriving = page.waitForEvent("download");
  await page.getByRole("button", { name: button }).first().click();
  const download = await arriving;
  return { name: download.suggestedFilename(), path: await download.path() };
}

async function look(page: Page, name: string): Promise<void> {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
  const found = await page.evaluate(async () => {
    const engine = (globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe;
    return (await engine.run({ resultTypes: ["violations"] })).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  });
  expect(found).toEqual([]);
  for (const [look, colorScheme, width] of [["light", "light", 1280], ["phone", "dark", 390]] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 820 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), "wider than the window").toBe(0);
    if (SHOTS) await page.screenshot({ path: join(SHOTS, `link-${name}.${look}.png`) });
  }
}

test("a link to a folder opens in a browser that was never here, once for each click and not for a look at the page", async () => {
  await toFolder();
  const link = await share("5 times", "7 days", "Lisbon in March");
  expect(link).toMatch(new RegExp(`^${machine.url}/share#[A-Za-z0-9_-]{43}$`));
  const key = link.split("#")[1]!;
  const { page, asked } = await visit(link);
  await page.getByRole("heading", { name: "Somebody shares files with you" }).waitFor();
  expect(page.url()).toBe(`${machine.url}/share`);
  await look(page, "before");
  expect(asked.map((request) => request.url()).filter((url) => url.includes("/v1/"))).toEqual([]);
  await page.getByRole("button", { name: "Show files" }).click();
  await page.getByRole("heading", { name: "Lisbon in March" }).waitFor();
  await page.getByText("4 files, 17.0 MiB").waitFor();
  await page.getByText("may be opened 4 times more").waitFor();
  await page.getByText(HTML).first().waitFor();
  await look(page, "files");
  const large = await saved(page, /^Download.*large.bin/);
  expect(large.name).toBe("large.bin");
  expect(readFileSync(large.path).equals(readFileSync(machine.path("Lisbon/raw/large.bin")))).toBe(true);
  await page.getByText("is saved. Every byte was verified.").waitFor();
  const zip = await saved(page, "Download all as zip");
  expect(zip.name).toBe("Lisbon in March.zip");
  execFileSync("unzip", ["-q", zip.path, "-d", machine.path("unzipped")]);
  expect(listing(machine.path("unzipped/Lisbon"))).toEqual(listing(machine.path("Lisbon")));
  await look(page, "saved");
  // The key went to nobody, and is not kept.
  const noted = [...(await Promise.all(asked.map(told))), await kept(page)];
  expect(noted.some((bytes) => bytes.includes("/v1/"))).toBe(true);
  for (const form of formsOf(key)) expect(noted.some((bytes) => bytes.includes(form)), form.toString("latin1")).toBe(false);
  // The page is loaded anew: the link is asked for again, and opens without being counted once more.
  await page.reload();
  await page.getByText("There is no link here").waitFor();
  await look(page, "none");
  await page.goto(link);
  await page.getByRole("button", { name: "Show files" }).click();
  await page.getByText("may be opened 4 times more").waitFor();
  await page.context().close();
  // Somebody who reads German.
  const german = (await visit(link, { locale: "de-AT" })).page;
  await german.getByRole("heading", { name: "Jemand teilt Dateien mit Ihnen" }).waitFor();
  expect(await german.evaluate(() => [document.documentElement.lang, document.title])).toEqual(["de", "Geteilte Dateien – Copal"]);
  await german.getByRole("button", { name: "Dateien zeigen" }).click();
  await german.getByText("4 Dateien, 17,0 MiB").waitFor();
  await german.getByText("Der Link lässt sich noch 3-mal öffnen.").waitFor();
  await look(german, "german");
  await german.context().close();
  expect(strays).toEqual([]);
});

test("a link to one file that may be opened once opens nothing the second time", async () => {
  await owner.getByRole("row").filter({ hasText: "walk.txt" }).locator("[data-tick]").click();
  const link = await share("once");
  await owner.getByRole("row").filter({ hasText: "walk.txt" }).locator("[data-tick]").click();
  const first = await visit(link);
  await first.page.getByRole("button", { name: "Show files" }).click();
  await first.page.getByText("This was the last opening of the link").waitFor();
  const file = await saved(first.page, /^Download/);
  expect([file.name, readFileSync(file.path, "utf8")]).toEqual(["walk.txt", "Lisbon, in March\n"]);
  const second = await visit(link);
  await second.page.getByRole("button", { name: "Show files" }).click();
  await second.page.getByText("This link opens nothing").waitFor();
  await look(second.page, "gone");
  for (const { page } of [first, second]) await page.context().close();
  expect(strays).toEqual([]);
});

test("what a server has altered is not handed over", async () => {
  const link = await share("1,000 times", "1 day");
  const { page } = await visit(link);
  await page.getByRole("button", { name: "Show files" }).click();
  await page.getByRole("button", { name: "Download all as zip" }).waitFor();
  let downloads = 0;
  page.on("download", () => (downloads += 1));
  await page.route("**/parts", async (route) => {
    const response = await route.fetch();
    const body = await response.body();
    body[body.length >> 1]! ^= 1;
    await route.fulfill({ response, body });
  });
  await page.getByRole("button", { name: "Download all as zip" }).click();
  await page.getByText("What the server gave is not what was shared").waitFor();
  await look(page, "altered");
  await page.goto(link.replace(/#.*/, ""));
  await page.goto(link);
  await page.getByRole("button", { name: "Show files" }).click();
  await page.getByText("What the server gave is not what was shared").waitFor();
  expect(downloads).toBe(0);
  await page.context().close();
  expect(strays).toEqual([]);
});

test("the owner sees how often a link was opened, from another browser too, and revokes it: a download breaks off", async () => {
  const link = await share("5 times", "30 days", "For Ben");
  const { page } = await visit(link);
  await page.getByRole("button", { name: "Show files" }).click();
  await page.getByRole("heading", { name: "For Ben" }).waitFor();
  const other = await (await anybody()).newPage();
  await other.goto(machine.url);
  await other.getByRole("textbox", { name: "Passphrase" }).fill(PASSPHRASE);
  await other.keyboard.press("Enter");
  await other.getByRole("link", { name: "Restore" }).click();
  await other.getByRole("button", { name: "Shares", exact: true }).click();
  const row = other.getByRole("listitem").filter({ hasText: "For Ben" });
  await row.getByText("Opened 1 of 5").waitFor();
  expect(machineKnows("For Ben")).toBe(false);
  await row.getByRole("button", { name: "Revoke For Ben" }).click();
  await other.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await row.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Download all as zip" }).click();
  await page.getByText("This link opens nothing").waitFor();
  const late = await visit(link);
  await late.page.getByRole("button", { name: "Show files" }).click();
  await late.page.getByText("This link opens nothing").waitFor();
  for (const one of [page, other, late.page]) await one.context().close();
  expect(strays).toEqual([]);
});

test("what is too large, or was stopped, leaves nothing on the server", async () => {
  const before = listing(join(machine.repository, "shares"));
  await owner.route("**/v1/objects/shares/**", (route) => (route.request().url().includes("/list/") ? undefined : route.continue()));
  await owner.getByRole("button", { name: /^Share…/ }).click();
  const asking = owner.waitForRequest(/shares\/list/);
  await owner.getByRole("button", { name: "Make the link" }).click();
  await asking;
  await owner.getByRole("button", { name: "Stop" }).click();
  await owner.getByRole("button", { name: "Make the link" }).waitFor();
  await owner.unroute("**/v1/objects/shares/**");
  await owner.getByRole("button", { name: "Cancel" }).click();
  expect(listing(join(machine.repository, "shares"))).toEqual(before);
});

/** Whether anything that the server stores for shares holds a text. */
function machineKnows(text: string): boolean {
  const folder = join(machine.repository, "shares");
  return Object.keys(listing(folder)).some((path) => readFileSync(join(folder, path)).includes(text));
}
