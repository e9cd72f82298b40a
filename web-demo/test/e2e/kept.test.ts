//! Kept: rules that are set in the page are those that the command shows and the service follows; what the page foresees is what
//! then expires; a hold is told and released.

import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";

import { Machine, PASSPHRASE, launch } from "./kit";

const machine = new Machine();
const folder = machine.path("Letters");
let page: Page;
let browser: Awaited<ReturnType<typeof launch>>;
const web = inject("product");
const strays: string[] = [];

/** Through the gateway, which takes in what a client writes at once. */
const copal = (...args: string[]) => machine.copal(args, { COPAL_REPOSITORY: machine.url });
const kept = () => (JSON.parse(machine.copal(["snapshots", "--json"])) as { id: string }[]).map(({ id }) => id);
const held = () => (JSON.parse(machine.copal(["status", "--json"])) as { held: { snapshot: string }[] }).held.map(({ snapshot }) => snapshot);
const policy = () => JSON.parse(machine.copal(["policy", "show", "--json"])) as { change: number | null; policy: string | null; lingers: object | null };

/** What a change has signed: the ids of the tags that it names, and the policy. */
function signed(change: number): { ids: string[]; policy: string } {
  const { operations } = JSON.parse(machine.copal(["cat", `changes/${String(change).padStart(20, "0")}`])) as { operations: { tag?: { add: { id: string }[] }; owner_policy?: { policy: string } }[] };
  return { ids: operations.flatMap(({ tag }) => tag?.add ?? []).map(({ id }) => id).sort(), policy: operations.find(({ owner_policy }) => owner_policy)!.owner_policy!.policy };
}

/** Backs the folder up with one letter more. */
function save(): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${readdirSync(folder).length}.txt`), randomBytes(readdirSync(folder).length === 0 ? 40_000 : 400));
  return backUp();
}

function backUp(): string {
  return (JSON.parse(copal("backup", "--json", folder)) as { snapshot_id: string }).snapshot_id;
}

/** Waits until the list of snapshots is as long. */
async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 150_000; !(await holds()); ) {
    if (Date.now() > deadline) throw new Error(`it does not come to pass that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const click = (name: string | RegExp) => page.getByRole("button", { name, exact: typeof name === "string" }).click();

async function openKept(): Promise<void> {
  await page.getByRole("link", { name: "Restore" }).click();
  await click("What is kept");
  await page.getByRole("heading", { level: 2 }).first().waitFor();
}

beforeAll(async () => {
  machine.init();
  await machine.serve(web, ["--expire-every", "1s"]);
  browser = await launch();
  const context = await browser.newContext();
  context.setDefaultTimeout(150_000);
  page = await context.newPage();
  page.on("console", (message) => { if (/Content Security Policy|Trusted|Refused/i.test(message.text())) strays.push(message.text()); });
  page.on("pageerror", (error) => strays.push(`error: ${error.message}`));
});

afterAll(async () => {
  await browser?.close();
  await machine.end();
  expect(strays).toEqual([]);
});

test("rules are set in the page; the command shows them, and what was foreseen is what expires", async () => {
  const saved = [1, 2, 3, 4].map(save);
  await page.goto(machine.url);
  await page.locator("#secret").fill(PASSPHRASE);
  await click("Unlock");
  await openKept();
  await page.getByText("Each of your 4 backups stays until somebody forgets it").waitFor();
  await click("Set rules…");
  await page.getByRole("radio", { name: /Own numbers/ }).check();
  for (const field of ["Hours", "Days", "Weeks", "Months", "Quarters", "Years", "Everything of the last", "Guard the last", "Guard so many days"]) {
    await page.getByRole("textbox", { name: field, exact: true }).fill("");
  }
  await page.getByRole("textbox", { name: "Last backups" }).fill("2");
  await click("Show what would go");
  await page.getByText("2 backups would go, 2 would stay").waitFor();
  const rows = page.locator(".forecast tbody tr");
  expect(await rows.filter({ hasText: "Goes" }).count()).toBe(2);
  expect(await rows.first().textContent()).toContain("number 1 of the last");
  expect(kept().length, "nothing was signed yet").toBe(4);
  expect(policy().policy).toBeNull();
  await click("Sign these rules…");
  await click("Sign and set these rules");
  await page.locator(".title", { hasText: "The rules are signed" }).waitFor();
  expect(policy().policy).toContain("keep-last = 2");
  expect(policy().policy).toContain('hold-share = "50%"');
  await page.getByText("The last 2 backups").first().waitFor();
  await until("two expire", () => kept().length === 2);
  expect(kept().sort()).toEqual(saved.slice(2).sort());
});

test("a backup that looks wrong is told with its reason, and released after it was shown what goes then", async () => {
  writeFileSync(machine.path("policy.toml"), 'keep-last = 2\nhold-share = "40%"\nhold-from = "30KiB"\n');
  copal("policy", "set", "policy.toml");
  rmSync(join(folder, "0.txt"));
  const ravaged = backUp();
  await page.getByRole("link", { name: "Status" }).click();
  await click(/^Look at it: .* has changed a lot at once/);
  await page.getByText("1 backup looks wrong").waitFor();
  await page.getByText(/the one before held 4\d\.\d KiB/).waitFor();
  expect(held()).toEqual([ravaged]);
  expect(kept().length).toBe(3);
  await click(/^Release…/);
  await page.getByText("1 backup would go, 2 would stay").waitFor();
  await click("Sign and release");
  await page.getByText("The rules count for these backups again").waitFor();
  await page.getByText("1 backup looks wrong").waitFor({ state: "detached" });
  expect(held()).toEqual([]);
  await until("the oldest expires", () => kept().length === 2);
  await page.getByRole("link", { name: "Status" }).click();
  await page.getByRole("button", { name: /^Look at it: / }).waitFor({ state: "detached" });
});

test("what only the command sets is shown, and stays when the page sets other numbers", async () => {
  copal("tag", "--add", "taxes", kept()[0]!);
  writeFileSync(machine.path("policy.toml"), 'keep-last = 5\nkeep-within-weekly = "6m"\nkeep-tags = [["taxes"]]\nfloor-age = "36h"\nhold-share = "40%"\nhold-from = "30KiB"\ntimezone = "CET-1CEST,M3.5.0,M10.5.0/3"\ngrace = "36h"\n');
  copal("policy", "set", "policy.toml");
  const before = policy().policy!;
  await openKept();
  for (const words of ["The last 5 backups", "One for each week of the last 6 months", "Backups with the tag “taxes”", "whatever is younger than 36 hours"]) {
    await page.getByText(words).first().waitFor();
  }
  await click("Change the rules…");
  await page.getByRole("textbox", { name: "Last backups" }).fill("4");
  await click("Show what would go");
  await page.getByText("Nothing would go now: 2 backups stay").waitFor();
  await click("Sign these rules…");
  await click("Sign and set these rules");
  await page.locator(".title", { hasText: "The rules are signed" }).waitFor();
  expect(policy().policy).toBe(before.replace("keep-last = 5", "keep-last = 4"));
});

test("rules that somebody else has set meanwhile are not undone", async () => {
  await openKept();
  await click("Change the rules…");
  await page.getByRole("textbox", { name: "Last backups" }).fill("1");
  await click("Show what would go");
  // The weekly rule, the guard and the tag keep both.
  await page.getByText("Nothing would go now: 2 backups stay").waitFor();
  copal("policy", "set", "policy.toml");
  const theirs = policy();
  await click("Sign these rules…");
  await click("Sign and set these rules");
  await page.getByText("Somebody has changed rules or snapshots meanwhile").waitFor();
  expect(policy()).toEqual(theirs);
  await click("Leave the rules as they are");
});

test("a guard that is lowered lingers, and the page says until when", async () => {
  await openKept();
  await click("Change the rules…");
  await page.getByRole("textbox", { name: "Guard so many days" }).fill("");
  await click("Show what would go");
  await page.getByText(/what the rules before have guarded stays too: whatever is younger than 36 hours/).first().waitFor();
  await click("Sign these rules…");
  await click("Sign and set these rules");
  await page.locator(".title", { hasText: "The rules are signed" }).waitFor();
  expect(policy().lingers).not.toBeNull();
});

test("tags, the watch for suspicious backups, the time to bring back and the zone are set in the page, by keyboard, and read by the command", async () => {
  // The rules of the tests before, and another zone than the browser's.
  writeFileSync(machine.path("policy.toml"), 'keep-last = 4\nkeep-within-weekly = "6m"\nkeep-tags = [["taxes"]]\nhold-share = "40%"\nhold-from = "30KiB"\ntimezone = "EST5EDT,M3.2.0,M11.1.0"\ngrace = "36h"\n');
  copal("policy", "set", "policy.toml");
  // A device that has saved nothing yet, with data of its own: the policy knows its tags too.
  copal("client", "add", "--name", "attic", "--role", "write-only");
  const context = await browser.newContext({ timezoneId: "Europe/Berlin" });
  context.setDefaultTimeout(150_000);
  page = await context.newPage();
  await page.goto(machine.url);
  await page.locator("#secret").fill(PASSPHRASE);
  await page.keyboard.press("Enter");
  await openKept();
  await page.getByRole("button", { name: "Change the rules…" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("summary", { hasText: "More: tags" }).focus();
  await page.keyboard.press("Enter");
  const focused = () => page.evaluate(() => document.activeElement?.textContent || document.activeElement?.id);
  await page.getByRole("button", { name: "Remove “taxes”" }).waitFor();
  // The first thing is the set that is in force. When it is removed, the field beside it gets the focus.
  await page.keyboard.press("Tab");
  expect(await focused()).toBe("Remove “taxes”");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Remove/ }).waitFor({ state: "detached" });
  expect(await focused()).toMatch(/-tag$/);
  await page.keyboard.type("deed, house");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Remove “deed” and “house”" }).waitFor();
  expect(await page.getByText("This protects less than today").count(), "Enter adds, and does not send").toBe(0);
  const share = page.getByLabel("Percent gone or stored anew");
  await share.fill("0");
  await page.keyboard.press("Enter");
  await page.getByText("A whole number from 1 to 100.").waitFor();
  await expect.poll(() => share.evaluate((field) => document.activeElement === field)).toBe(true);
  await share.fill("70");
  await page.getByLabel("Time to bring back").fill("2h");
  await page.getByLabel("Days begin at midnight").selectOption({ label: "In Europe/Berlin, where this browser is" });
  // A tag that was typed and not added counts too.
  await page.getByLabel("Tags", { exact: true }).fill("wedding");
  await share.press("Enter");
  const warning = page.locator(".preview-rules .notice", { hasText: "This protects less than today" });
  await warning.waitFor();
  for (const line of ["Backups with the tag “taxes” would no longer stay", "Then: 70 %", "for 36 hours. Then: 2 hours"]) expect(await warning.textContent()).toContain(line);
  const before = policy();
  await click("Sign these rules…");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This protects less than today").waitFor();
  await dialog.getByText("Days begin at midnight of the time zone Europe/Berlin").waitFor();
  expect(policy()).toEqual(before);
  await dialog.getByLabel("Name of this device").fill("Berlin");
  await click("Sign and set these rules");
  await page.locator(".title", { hasText: "The rules are signed" }).waitFor();
  const set = policy().policy!;
  expect(set).toMatch(/^timezone = "(CET|<\+01>)-1(CEST|<\+02>),M3\.5\.0,M10\.5\.0\/3"$/m);
  for (const line of ["keep-last = 4", 'keep-within-weekly = "6m"', 'hold-share = "70%"', 'hold-from = "30KiB"', 'grace = "2h"']) expect(set.split("\n")).toContain(line);
  expect(set).toContain('keep-tags = [["deed", "house"], ["wedding"]]');
  // No backup has these tags, and the page names them all the same.
  await page.getByText("Backups with the tags “deed” and “house”").first().waitFor();
  // The command, which sets the same, makes the same of it: ids in the data of each device.
  const [ours, theirs] = [signed(policy().change!), (writeFileSync(machine.path("policy.toml"), set), copal("policy", "set", "policy.toml"), signed(policy().change!))];
  expect(ours.ids.length).toBeGreaterThan(3);
  expect(ours.ids).toEqual(theirs.ids);
  expect(ours.policy.length).toBe(theirs.policy.length);
  for (const id of ours.ids) expect(ours.policy).toContain(id);
  await context.close();
});
