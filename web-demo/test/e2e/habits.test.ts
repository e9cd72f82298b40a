//! Habits: what people do with the page day after day, on a real server.

import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { problems } from "../../src/words/problems";
import { backUp, generate, listing, unlock } from "./kit";
import { machine, setting, tab, web } from "./setting";

setting();

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 120_000; !(await holds()); ) {
    if (Date.now() > deadline) throw new Error("it never holds");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test("a folder that the browser remembers is backed up again with one call, its empty folders too, and an unchanged one takes nothing", async () => {
  await unlock(tab);
  const done = await tab.page.evaluate(async () => {
    const picked = await (await navigator.storage.getDirectory()).getDirectoryHandle("Diary", { create: true });
    const below = await picked.getDirectoryHandle("2026", { create: true });
    await picked.getDirectoryHandle("nothing in it", { create: true });
    for (const name of ["a.txt", "b.txt", "c.tmp"]) {
      const file = await (await below.getFileHandle(name, { create: true })).createWritable();
      await file.write(`${name} `.repeat(3_000));
      await file.close();
    }
    // Nobody is there to answer the browser's dialog.
    Object.assign(window, { showDirectoryPicker: async () => picked });
    const folder = (await window.core.pickFolder())!;
    const remembering = new Promise<void>((resolve) => window.core.subscribe((event) => event.type === "changed" && event.what === "remembered" && resolve()));
    const first = await (await window.core.startBackup({ folder: folder.id, label: "Diary", excludes: ["*.tmp"], remember: true })).done;
    await remembering;
    return { folder, first };
  });
  expect(done.folder).toMatchObject({ name: "Diary", via: "picker", canRemember: true, blindTo: ["odd-names", "links", "permissions"] });
  expect(done.first).toMatchObject({ files: 2, receipt: "verified" });
  await tab.page.reload();
  await tab.page.waitForSelector("body[data-ready=yes]", { state: "attached" });
  await unlock(tab);
  const again = await tab.page.evaluate(async () => {
    const remembered = await window.core.remembered();
    const { id, label, excludes } = remembered[0]!;
    const folder = await window.core.openRemembered(id);
    const run = await window.core.startBackup({ folder: folder.id, label, excludes, remember: true });
    return { remembered, result: await run.done };
  });
  expect(again.remembered).toMatchObject([{ name: "Diary", label: "Diary", files: 2, excludes: ["*.tmp"] }]);
  expect(again.result).toMatchObject({ files: 2, newFiles: 0, newBytes: 0, receipt: "verified" });
  machine.copal(["restore", again.result.snapshot, "--target", "out"]);
  expect(Object.keys(listing(machine.path("out"))).sort()).toEqual(["Diary/2026/a.txt", "Diary/2026/b.txt"]);
  expect(readdirSync(machine.path("out/Diary")).sort()).toEqual(["2026", "nothing in it"]);
});

test("a backup that is paused uploads nothing until it goes on", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 60, large: 160 << 20 });
  await unlock(tab);
  await tab.page.setInputFiles("#folder", folder);
  const seen = await tab.page.evaluate(async () => {
    const files = (document.getElementById("folder") as HTMLInputElement).files!;
    const folder = await window.core.folderFromInput(files);
    const run = await window.core.startBackup({ folder: folder.id, label: "photos", excludes: [], remember: false });
    let [stored, state, read] = [0, "", 0];
    run.onProgress((progress) => ([stored, state, read] = [progress.storedBytes, progress.state, progress.bytes.done]));
    const until = async (holds: () => boolean) => {
      while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    await until(() => stored > 0);
    run.pause();
    await until(() => state === "paused");
    // What was on its way arrives; then nothing moves.
    const still = async (ms: number) => {
      for (let last = -1; last !== stored; ) {
        last = stored;
        await new Promise((resolve) => setTimeout(resolve, ms));
      }
      return { stored, read };
    };
    const paused = await still(10_000);
    const later = await still(5_000);
    run.resume();
    const result = await run.done;
    return { paused, later, result };
  });
  expect(seen.later).toEqual(seen.paused);
  expect(seen.paused.read).toBeLessThan(seen.result.bytes);
  expect(seen.result).toMatchObject({ receipt: "verified" });
  machine.copal(["restore", seen.result.snapshot, "--target", "out"]);
  expect(listing(machine.path("out/Pictures"))).toEqual(listing(folder));
});

test("of a file whose pack was altered on the server nothing is handed over, it is named, and the others are whole", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 120, large: 24 << 20 });
  const expected = listing(folder);
  await unlock(tab);
  await backUp(tab, folder);
  // The largest pack is of the large file alone, in its middle.
  const packs = machine.path("repository/packs");
  const sized = readdirSync(packs, { recursive: true, encoding: "utf8" }).map((name) => ({ path: join(packs, name), stat: statSync(join(packs, name)) }));
  const [largest] = sized.filter(({ stat }) => stat.isFile()).sort((a, b) => b.stat.size - a.stat.size);
  const bytes = readFileSync(largest!.path);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(largest!.path, bytes);
  const { result, hashes } = await tab.page.evaluate(async () => {
    const picked = await (await navigator.storage.getDirectory()).getDirectoryHandle("picked", { create: true });
    Object.assign(window, { showDirectoryPicker: async () => picked });
    const { snapshots } = await window.core.snapshots();
    const result = await (await window.core.restoreInto(snapshots[0]!.id, ["Pictures"], async () => "leave"))!.done;
    const hashes: Record<string, string> = {};
    const visit = async (at: FileSystemDirectoryHandle, path: string): Promise<void> => {
      for await (const [name, handle] of (at as unknown as { entries(): AsyncIterable<[string, FileSystemHandle]> }).entries()) {
        if (handle.kind === "directory") await visit(handle as FileSystemDirectoryHandle, `${path}${name}/`);
        else {
          const digest = await crypto.subtle.digest("SHA-256", await (await (handle as FileSystemFileHandle).getFile()).arrayBuffer());
          hashes[`${path}${name}`] = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
        }
      }
    };
    await visit(picked, "");
    return { result, hashes };
  });
  const damaged = result.damaged.map(({ path }) => path);
  expect(damaged.length).toBeGreaterThan(0);
  expect(result.damaged[0]!.problem.code).toBe("damaged");
  const whole = Object.entries(expected).map(([path, hash]) => [`Pictures/${path}`, hash] as const).filter(([path]) => !damaged.includes(path));
  expect(hashes).toEqual(Object.fromEntries(whole));
  // What the page advises mends it.
  const [command] = /(?<="copal ).*?(?=")/.exec(problems.damaged.advice)!;
  expect(() => machine.copal(command.split(" "))).toThrow("Command failed");
  await backUp(tab, folder);
  machine.copal(["restore", "latest", "--target", "out"]);
  expect(listing(machine.path("out/Pictures"))).toEqual(expected);
});

test("the status tells what is verified, what a check has found, what is saved, and how it grew", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 120, large: 2 << 20 });
  await unlock(tab);
  const first = await backUp(tab, folder);
  writeFileSync(join(folder, "new.txt"), "new");
  const second = await backUp(tab, folder);
  await machine.kill("SIGTERM");
  await machine.serve(web, ["--check-every", "1s"]);
  await until(async () => (await tab.page.evaluate(() => window.core.status())).lastCheck !== null);
  const status = await tab.page.evaluate(() => window.core.status());
  expect(status.receipts.map(({ snapshot, state, source }) => `${snapshot} ${state} ${source}`)).toEqual([second, first].map(({ snapshot }) => `${snapshot} verified photos`));
  expect(status.lastCheck).toMatchObject({ outcome: "sound", findings: [] });
  expect(status.space!.sourceBytes).toBe(first.bytes + second.bytes);
  expect(status.space!.newestBytes).toBe(second.bytes);
  expect(status.space!.storedBytes).toBeGreaterThan(0);
  expect(status.space!.storedBytes).toBeLessThan(first.bytes);
  expect(status.history.length).toBeGreaterThan(0);
  expect(status.history.at(-1)!.storedBytes).toBe(status.space!.storedBytes);
  expect(status.resumable).toEqual([]);
});

test("a backup that was stopped is an unfinished one in the status, and its steps that wait to be verified are no backups", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 60, large: 160 << 20 });
  await unlock(tab);
  const first = await backUp(tab, machine.path("Pictures/many"), "small");
  // As if the service had not answered yet: no receipt, and no root but the one of now.
  const roots = new Map<string, string>();
  await tab.context.route(/prefix=roots/, async (route) => {
    const address = route.request().url();
    if (!roots.has(address)) roots.set(address, await (await route.fetch()).text());
    await route.fulfill({ contentType: "application/json", body: roots.get(address)! });
  });
  await tab.page.evaluate(() => window.core.status());
  await tab.context.route(/\/v1\/receipts\//, (route) => route.fulfill({ status: 404, headers: { "copal-problem": "not-found" } }));
  await tab.page.setInputFiles("#folder", folder);
  await tab.page.evaluate(async () => {
    const folder = await window.core.folderFromInput((document.getElementById("folder") as HTMLInputElement).files!);
    const run = await window.core.startBackup({ folder: folder.id, label: "photos", excludes: [], remember: false });
    run.onProgress((progress) => progress.storedBytes > 0 && run.cancel());
    await run.done.catch(() => {});
  });
  const status = await tab.page.evaluate(() => window.core.status());
  expect(roots.size).toBeGreaterThan(0);
  expect(status.receipts.map(({ snapshot, state }) => `${snapshot} ${state}`)).toEqual([`${first.snapshot} verified`]);
  expect(status.unfinishedSteps).toBeGreaterThan(0);
  expect(status.resumable).toMatchObject([{ label: "photos" }]);
});

test("what a person clears in the browser under an open page, the page does without", async () => {
  const folder = machine.path("Letters");
  generate(folder, { files: 20, large: 1 << 20 });
  await unlock(tab);
  await backUp(tab, folder);
  const devtools = await tab.context.newCDPSession(tab.page);
  await devtools.send("Storage.clearDataForOrigin", { origin: machine.url, storageTypes: "all" });
  const again = await backUp(tab, folder);
  expect(again).toMatchObject({ receipt: "verified", leftOut: { unreadable: 0 } });
  expect(await tab.page.evaluate(async () => (await window.core.settings()).idleMinutes)).toBe(15);
});

test("a browser that has no room any more backs up what it knows, and opens it again", async () => {
  const folder = machine.path("Letters");
  generate(folder, { files: 20, large: 1 << 20 });
  await unlock(tab);
  await backUp(tab, folder);
  // In place of a full disk: the coordinator's database takes nothing any more.
  const full = 'IDBObjectStore.prototype.put = () => { throw new DOMException("", "QuotaExceededError"); };';
  await tab.context.route(/coordinator[^/]*\.js$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: `${full}\n${await response.text()}` });
  });
  writeFileSync(join(folder, "new.txt"), "new");
  await tab.page.reload();
  await tab.page.waitForSelector("body[data-ready=yes]", { state: "attached" });
  await unlock(tab);
  expect(await backUp(tab, folder)).toMatchObject({ receipt: "verified", newFiles: 1 });
});
