//! Changing: files that another program writes to all the time, on a real disk, and what becomes of them.

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { backUp, drop, unlock } from "./kit";
import { machine, setting, tab } from "./setting";

setting();

/** Bytes of a log that takes some windows, and longer to read than a writer sleeps. */
const LARGE = 24 << 20;
let writer: ChildProcess | null = null;

/** Appends a line to two logs, and writes a third file anew, fifty times a second. */
const WRITER = `
  const fs = require("fs"), [small, large, anew] = process.argv.slice(1);
  const kept = fs.openSync(anew, "r+");
  let number = 0;
  setInterval(() => {
    fs.appendFileSync(small, "line " + number + "\\n");
    fs.appendFileSync(large, "line " + number + "\\n");
    fs.writeSync(kept, Buffer.alloc(4096, "abcdefgh"[number++ % 8]), 0, 4096, 0);
  }, 20);
`;

/** A folder with a file that stays as it is, and three that are written to from now on. */
async function busyFolder(): Promise<string> {
  const folder = machine.path("Busy");
  mkdirSync(folder);
  writeFileSync(join(folder, "still.txt"), "still");
  utimesSync(join(folder, "still.txt"), 1_700_000_000, 1_700_000_000);
  writeFileSync(join(folder, "small.log"), "");
  writeFileSync(join(folder, "large.log"), randomBytes(LARGE));
  writeFileSync(join(folder, "anew.bin"), Buffer.alloc(4096, "a"));
  return folder;
}

async function startWriter(folder: string): Promise<void> {
  const files = ["small.log", "large.log", "anew.bin"].map((name) => join(folder, name));
  writer = spawn(process.execPath, ["-e", WRITER, ...files], { stdio: "ignore" });
  while (readFileSync(files[0]!).length < 100) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function stopWriter(): Promise<void> {
  if (!writer || writer.exitCode !== null || writer.signalCode !== null) return;
  const ended = new Promise((resolve) => writer!.once("exit", resolve));
  writer.kill();
  await ended;
}

afterEach(stopWriter);

async function backUpDropped() {
  return tab.page.evaluate(async () => {
    while (!window.dropped) await new Promise((resolve) => setTimeout(resolve, 20));
    const folder = await window.dropped;
    const run = await window.core.startBackup({ folder: folder.id, label: "Busy", excludes: [], remember: false });
    const result = await run.done;
    return { folder, result, snapshot: (await window.core.snapshots()).snapshots[0]! };
  });
}

/** Whether restored logs are beginnings of what the logs are now, and of what they were before the backup. */
function expectBeginnings(snapshot: string, folder: string, before: Record<string, number>): void {
  const out = `out-${snapshot.slice(0, 8)}`;
  machine.copal(["restore", snapshot, "--target", out]);
  for (const [name, least] of Object.entries(before)) {
    const [saved, now] = [readFileSync(machine.path(`${out}/Busy/${name}`)), readFileSync(join(folder, name))];
    expect(saved.length, name).toBeGreaterThanOrEqual(least);
    expect(now.subarray(0, saved.length).equals(saved), `${name} is a beginning of the log`).toBe(true);
  }
  expect(readFileSync(machine.path(`${out}/Busy/still.txt`), "utf8")).toBe("still");
  const anew = readFileSync(machine.path(`${out}/Busy/anew.bin`), "utf8");
  expect(anew).toMatch(/^[a-h]{4096}$/);
}

test("files that are always being written are saved as they were read last, said to be changing, and read again the next time", async () => {
  const folder = await busyFolder();
  await startWriter(folder);
  await unlock(tab);
  await drop(tab, folder);
  const before = { "small.log": readFileSync(join(folder, "small.log")).length, "large.log": LARGE };
  const first = await backUpDropped();
  expect(first.folder.canRemember, "it is a handle").toBe(true);
  // A small one may be read between two writes: then it is a state that it was in.
  const { examples, unreadable, changing } = first.result.leftOut;
  expect([unreadable, examples.length], JSON.stringify(examples)).toEqual([0, changing]);
  expect(first.result).toMatchObject({ files: 4, receipt: "verified" });
  expect(examples).toContainEqual({ path: "Busy/large.log", why: "changing", detail: null });
  expect(first.snapshot.troubles).toEqual({ unreadable: 0, changing, names: examples.map(({ path, why }) => ({ path, why })) });
  expectBeginnings(first.result.snapshot, folder, before);

  const again = await backUpDropped();
  expect(again.result.leftOut.examples.filter(({ why }) => why !== "changing")).toEqual([]);
  expect(again.result).toMatchObject({ files: 4, unchangedFiles: 1, changedFiles: 3 });
  expect(again.result.leftOut.changing).toBeGreaterThan(0);
  await stopWriter();
  // Nobody writes any more: what is saved now is the files as they are, and no file is said to be changing.
  const last = await backUpDropped();
  expect(last.result).toMatchObject({ files: 4, leftOut: { unreadable: 0, changing: 0 } });
  expect(last.snapshot.troubles).toEqual({ unreadable: 0, changing: 0, names: [] });
  machine.copal(["restore", last.result.snapshot, "--target", "last"]);
  for (const name of ["small.log", "large.log", "anew.bin"]) {
    expect(readFileSync(machine.path(`last/Busy/${name}`)).equals(readFileSync(join(folder, name))), name).toBe(true);
  }
  machine.copal(["check", "--read-data"]);
});

test("a list holds files as they were when it was made: what has changed since then is missing, by name, in the snapshot too; and it is used once", async () => {
  const folder = await busyFolder();
  await startWriter(folder);
  await unlock(tab);
  await tab.page.setInputFiles("#folder", folder);
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  const done = await tab.page.evaluate(async () => {
    const folder = await window.core.folderFromInput((document.getElementById("folder") as HTMLInputElement).files!);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const run = await window.core.startBackup({ folder: folder.id, label: "Busy", excludes: [], remember: false });
    const result = await run.done;
    const again = await window.core.startBackup({ folder: folder.id, label: "Busy", excludes: [], remember: false }).then(() => "begun", (error: { problem?: { code: string } }) => error.problem?.code);
    return { result, again, snapshot: (await window.core.snapshots()).snapshots[0]! };
  });
  expect(done.again).toBe("folder-gone");
  const names = ["Busy/anew.bin", "Busy/large.log", "Busy/small.log"];
  expect(done.result).toMatchObject({ files: 1, leftOut: { unreadable: 3, changing: 0 } });
  expect(done.result.leftOut.examples.map(({ path, detail }) => `${path} ${detail}`).sort()).toEqual(names.map((name) => `${name} NotReadableError`));
  expect(done.snapshot.troubles).toMatchObject({ unreadable: 3, changing: 0 });
  expect(done.snapshot.troubles.names.map(({ path }) => path).sort()).toEqual(names);
  await stopWriter();
  expect(existsSync(join(folder, "small.log"))).toBe(true);
  expect(await backUp(tab, folder, "Busy")).toMatchObject({ files: 4, unchangedFiles: 1, leftOut: { unreadable: 0, changing: 0 } });
});

test("several dropped items are opened anew too, so that what has changed since the drop is saved", async () => {
  const folder = await busyFolder();
  const other = machine.path("Other");
  mkdirSync(other);
  writeFileSync(join(other, "notes.txt"), "notes");
  await unlock(tab);
  await drop(tab, folder, other);
  await tab.page.evaluate(async () => {
    while (!window.dropped) await new Promise((resolve) => setTimeout(resolve, 20));
    await window.dropped;
  });
  await startWriter(folder);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  appendFileSync(join(other, "notes.txt"), " and more");
  const before = { "small.log": 100, "large.log": LARGE };
  const { folder: chosen, result } = await backUpDropped();
  expect(chosen.canRemember, "it is a list").toBe(false);
  expect(result).toMatchObject({ files: 5, receipt: "verified", leftOut: { unreadable: 0 } });
  expect(result.leftOut.changing).toBeGreaterThan(0);
  expectBeginnings(result.snapshot, folder, before);
  expect(readFileSync(machine.path(`out-${result.snapshot.slice(0, 8)}/Other/notes.txt`), "utf8")).toBe("notes and more");
});
