//! Living: what a person sees who has had backups for a while: jobs that can be started, alarms, and a page without a network. One
//! browser and one repository for all of it.

import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";

import { size } from "../../src/app/words";
import { listed } from "../../vite.config";
import { Machine, PASSPHRASE, launch } from "./kit";

const web = inject("product");
let machine: Machine;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  browser = await launch();
  machine = new Machine();
  machine.init();
  // Neither begins by itself while these tests run.
  await machine.serve(web, SCHEDULE);
  context = await browser.newContext();
  page = await context.newPage();
  page.setDefaultTimeout(150_000);
  await page.goto(machine.url);
  await open();
});
afterAll(async () => {
  await browser?.close();
  await machine?.end();
});

const SCHEDULE = ["--check-every", "30d", "--prune-every", "30d", "--quota", "100MiB"];

async function open(): Promise<void> {
  await page.locator("#secret").fill(PASSPHRASE);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Back up" }).waitFor();
}

const go = (screen: string) => page.getByRole("link", { name: screen }).click();

async function backUp(folder: string): Promise<void> {
  await go("Back up");
  await page.getByTestId("folder-input").setInputFiles(folder);
  const name = page.getByRole("textbox", { name: "Name of this device" });
  await page.getByRole("button", { name: "Start backup" }).click();
  await page.getByRole("heading", { name: "is backed up" }).waitFor();
  expect(await name.count()).toBe(0);
  await page.getByRole("button", { name: "Back up something else" }).click();
}

const reports = (job: string) => { try { return readdirSync(machine.path(`repository/reports/${job}`)).length; } catch { return 0; } };

test("a check and a prune are started from the status, one at a time, and end as reports", async () => {
  const folder = machine.path("Letters");
  mkdirSync(folder);
  for (let i = 0; i < 20; i++) writeFileSync(join(folder, `${i}.txt`), `letter ${i}\n`.repeat(500));
  await backUp(folder);
  await go("Status");
  await page.getByText("It runs every 30 days.").first().waitFor();
  // This browser has promised nothing.
  await page.getByRole("region", { name: "Alarms" }).getByRole("button", { name: "I have read it" }).click();
  expect([reports("check"), reports("prune")]).toEqual([0, 0]);
  await page.getByRole("button", { name: "Check now" }).click();
  // The page follows: nobody loads it anew.
  await page.getByText(/Last just now: sound, .* read\./).waitFor();
  expect(reports("check")).toBe(1);
  // After an ordered job all of them rest.
  await page.getByRole("button", { name: "Prune now" }).click();
  await page.getByText("A job ran just now").waitFor();
  expect(reports("prune")).toBe(0);
  // A service that has just begun knows of no order. Nobody waits for a minute here.
  await machine.kill("SIGTERM");
  await machine.serve(web, SCHEDULE);
  await page.getByRole("button", { name: "Prune now" }).click();
  await page.getByText(/Last just now: .* freed\./).waitFor();
  expect([reports("check"), reports("prune")]).toEqual([1, 1]);
});

test("a series that has stopped is an alarm until nobody expects it any more", async () => {
  for (let i = 0; i < 2; i++) await backUp(machine.path("Letters"));
  // The page's own clock: nobody waits for days here.
  await page.clock.setFixedTime(Date.now() + 9 * 86_400_000);
  await page.reload();
  await open();
  await page.getByRole("link", { name: /^Status\s*1 alarm/ }).waitFor();
  await go("Status");
  const alarm = page.getByRole("region", { name: "Alarms" }).getByText(/^Letters of .* was backed up 9 days ago\.$/);
  await alarm.waitFor();
  await page.getByRole("button", { name: /^Expect no more of it/ }).click();
  await alarm.waitFor({ state: "detached" });
  await page.clock.setFixedTime(Date.now());
  await go("Settings");
  await page.getByText("You expect no more of 1 series.").waitFor();
});

test("damage that a check has found is an alarm, in the navigation too", async () => {
  const found = { findings: [{ kind: "damaged", object: "packs/ab/cd", why: "it is altered", snapshots: [] }, { kind: "haunted", object: "attic/1", why: "it moans" }], bytes_read: 1 };
  writeFileSync(machine.path(`repository/reports/check/${"9".repeat(20)}`), JSON.stringify(found));
  // Whoever opens the page sees it without going anywhere.
  await page.reload();
  await open();
  await page.getByRole("link", { name: /^Status\s*1 alarm/ }).waitFor();
  await go("Status");
  await page.getByRole("region", { name: "Alarms" }).getByText("The last check found damage.").waitFor();
  await page.getByText("A part of the stored data is damaged.").waitFor();
  // A finding of a kind that the page does not know is shown in the check's words.
  await page.getByText("attic/1: it moans").waitFor();
  expect(await page.getByText("packs/ab/cd: it is altered").isVisible()).toBe(false);
  await page.getByText("As the check has written it").click();
  await page.getByText("packs/ab/cd: it is altered").waitFor();
  await go("Settings");
  await page.getByRole("radio", { name: "Deutsch" }).check();
  await page.locator("a[href='#status']").click();
  await page.getByText("Ein Teil der gespeicherten Daten ist beschädigt.").waitFor();
  await page.locator("a[href='#settings']").click();
  await page.getByRole("radio", { name: "English" }).check();
});

test("what each device has added is what lies in the store, and its cost is shown once a price is set", async () => {
  const packs = machine.path("repository/packs");
  const files = readdirSync(packs, { recursive: true, encoding: "utf8" }).map((name) => statSync(join(packs, name))).filter((stat) => stat.isFile());
  const stored = files.reduce((all, stat) => all + stat.size, 0);
  await go("Status");
  expect(await page.getByText(/a month$/).count()).toBe(0);
  await page.getByRole("button", { name: "Add it up" }).click();
  const device = page.locator(".grown");
  await device.getByText("Letters").waitFor();
  expect(await device.getByText(size(stored), { exact: true }).count()).toBe(2);
  await go("Settings");
  await page.getByRole("combobox", { name: "What storage costs" }).selectOption("S3 Standard, $0.023");
  await go("Status");
  await device.getByText("under $0.01 a month").waitFor();
  await page.getByText(/are stored now, at \$0\.023 for a GB and month/).waitFor();
});

/** A shared machine may be slow. */
const PATIENT = { timeout: 30_000 };

/** Names of the builds that the browser keeps. */
const kept = () => page.evaluate(async () => {
  const found: Record<string, string[]> = {};
  for (const name of await caches.keys()) found[name] = (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname).sort();
  return found;
});
const offline = () => page.getByRole("radiogroup", { name: "Open without a network" });

async function openOffline(): Promise<void> {
  await page.getByRole("heading", { name: "Without the server" }).waitFor();
  await page.locator("#secret").fill(PASSPHRASE);
  await page.keyboard.press("Enter");
  await page.getByText("Offline: this is the last known list").waitFor();
}

test("without a network the page opens with its last known list, and says what needs the server", async () => {
  expect(await kept(), "off by default").toEqual({});
  await go("Settings");
  await offline().getByRole("radio", { name: "On" }).click();
  await expect.poll(() => offline().getByRole("radio", { name: "On" }).isChecked(), PATIENT).toBe(true);
  const list = Object.keys(JSON.parse(readFileSync(join(web, "files.json"), "utf8")) as object);
  const expected = [...list.map((path) => (path === "/index.html" ? "/" : path)), "/files.json"].sort();
  expect(Object.values(await kept())).toEqual([expected]);
  await context.setOffline(true);
  await page.reload();
  await page.getByRole("heading", { name: "Without the server" }).waitFor();
  await page.locator("#secret").fill("not the passphrase");
  await page.keyboard.press("Enter");
  await page.getByText("That is not the passphrase").waitFor();
  await openOffline();
  const rows = page.getByRole("grid", { name: /offline$/ });
  expect(await rows.getByText(/^Letters/).count()).toBe(3);
  await rows.locator("[data-row='0']").click();
  await page.getByText("What is in it needs the server").waitFor();
  await page.getByRole("button", { name: "Close" }).last().click();
  // With the network the same page goes on.
  await context.setOffline(false);
  await page.getByRole("button", { name: "Ask the server again" }).click();
  await page.getByRole("heading", { name: "Unlock your backups" }).waitFor();
  await open();
});

test("a new build replaces the kept one at the next visit, whole", async () => {
  const before = Object.keys(await kept());
  const next = `${web}-next`;
  cpSync(web, next, { recursive: true });
  const index = readFileSync(join(next, "index.html"), "utf8").replace("<title>Copal</title>", "<title>Copal, the next build</title>");
  writeFileSync(join(next, "index.html"), index);
  rmSync(join(next, "index.html.br"), { force: true });
  listed(next);
  await machine.kill("SIGTERM");
  // Without a server, but with a network: the kept page comes.
  await page.reload();
  await openOffline();
  await machine.serve(next, ["--check-every", "30d", "--prune-every", "30d"]);
  await page.goto(machine.url);
  expect(await page.evaluate(() => fetch("/").then((response) => response.text()))).toContain("the next build");
  await expect.poll(async () => Object.keys(await kept()), PATIENT).not.toEqual(before);
  await expect.poll(async () => Object.keys(await kept()).length, PATIENT).toBe(1);
  await context.setOffline(true);
  await page.reload();
  expect(await page.evaluate(() => fetch("/").then((response) => response.text()))).toContain("the next build");
  await openOffline();
  await context.setOffline(false);
  rmSync(next, { recursive: true });
});

test("forgetting the cache removes the page, the list and the service worker", async () => {
  await page.goto(machine.url);
  await page.getByRole("heading", { name: "Unlock your backups" }).waitFor();
  await open();
  await go("Settings");
  await page.getByRole("button", { name: "Forget the cache" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Forget" }).click();
  await page.getByText("The cache is gone").waitFor();
  await expect.poll(kept, PATIENT).toEqual({});
  const left = await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const names: string[] = [];
    for await (const name of (root as unknown as { keys(): AsyncIterable<string> }).keys()) names.push(name);
    return { names, workers: (await navigator.serviceWorker.getRegistrations()).length };
  });
  expect(left.names).not.toContain("offline");
  expect(left.workers).toBe(0);
  expect(await offline().getByRole("radio", { name: "Off" }).isChecked()).toBe(true);
});
