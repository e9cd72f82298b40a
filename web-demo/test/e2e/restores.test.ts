//! Every content of tests/restores.json, saved by the command, is restored by the page as it was: as a file, in a zip, into a
//! folder, and in a preview.

import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, linkSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

import { listing, unlock } from "./kit";
import { machine, setting, tab } from "./setting";

setting();

type Part = { hole: number } | { noise: number } | { text: string };
interface Content { name: string; parts: Part[]; appended?: Part[]; linked?: boolean }
const TOP = resolve(import.meta.dirname, "../../..");
const TABLE = JSON.parse(readFileSync(join(TOP, "tests/restores.json"), "utf8")) as { contents: Content[]; hosts: Record<string, string[]> };
/** Bytes of each file that a preview is asked for: behind the first hole of most. */
const PREVIEWED = 200_000;
/** Bytes from the middle of the larger ones. */
const PART: [number, number] = [65_000, 1_100_001];

function append(path: string, parts: Part[]): void {
  const file = openSync(path, "a+");
  for (const part of parts) {
    if ("hole" in part) ftruncateSync(file, fstatSync(file).size + part.hole);
    else writeSync(file, "noise" in part ? randomBytes(part.noise) : Buffer.from(part.text));
  }
  closeSync(file);
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("every content is restored by the page as it was saved", async () => {
  const source = machine.path("source/All");
  mkdirSync(source, { recursive: true });
  for (const { name, parts, linked } of TABLE.contents) {
    append(join(source, name), parts);
    if (linked) linkSync(join(source, name), join(source, `${name}, second name`));
  }
  machine.copal(["backup", "source/All"], { COPAL_REPOSITORY: machine.url });
  for (const { name, appended } of TABLE.contents) append(join(source, name), appended ?? []);
  machine.copal(["backup", "source/All"], { COPAL_REPOSITORY: machine.url });
  const expected = listing(source);
  await unlock(tab);
  const { snapshot, top } = await tab.page.evaluate(async () => {
    const { snapshots } = await window.core.snapshots();
    const snapshot = snapshots[0]!.id;
    const { hits } = await (await window.core.search(snapshot, "", "All")).done;
    return { snapshot, top: hits.find(({ kind, name }) => kind === "directory" && name === "All")!.id };
  });
  const given: Record<string, Record<string, string>> = {};

  const zip = await download(snapshot, [top]);
  execFileSync("unzip", ["-q", zip, "-d", machine.path("unzipped")]);
  given["page as a zip"] = listing(machine.path("unzipped/All"));

  given["page as a file"] = {};
  for (const name of Object.keys(expected)) given["page as a file"][name] = sha256(readFileSync(await download(snapshot, [`${top}/${name}`])));

  given["page into a folder"] = await tab.page.evaluate(async ({ snapshot, top }) => {
    const picked = await (await navigator.storage.getDirectory()).getDirectoryHandle("picked", { create: true });
    // Nobody is there to answer the browser's dialog.
    Object.assign(window, { showDirectoryPicker: async () => picked });
    const run = (await window.core.restoreInto(snapshot, [top], async () => "leave"))!;
    await run.done;
    const written: Record<string, string> = {};
    const folder = (await picked.getDirectoryHandle("All")) as unknown as { entries(): AsyncIterable<[string, FileSystemFileHandle]> };
    for await (const [name, handle] of folder.entries()) {
      const digest = await crypto.subtle.digest("SHA-256", await (await handle.getFile()).arrayBuffer());
      written[name] = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
    }
    return written;
  }, { snapshot, top });

  // A preview gives the first bytes, and a player asks for others: they are compared with the same bytes of the file.
  given["page preview"] = {};
  for (const name of Object.keys(expected)) {
    const found = await tab.page.evaluate(async ({ snapshot, file, most, part }) => {
      const digests = [(await window.core.preview(snapshot, file, most)).bytes, await window.core.part(snapshot, file, ...part)].map((bytes) => crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
      return (await Promise.all(digests)).map((digest) => Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")).join(" ");
    }, { snapshot, file: `${top}/${name}`, most: PREVIEWED, part: PART });
    const saved = readFileSync(join(source, name));
    const both = `${sha256(saved.subarray(0, PREVIEWED))} ${sha256(saved.subarray(...PART))}`;
    given["page preview"][name] = found === both ? expected[name]! : `its bytes are ${found}, not ${both}`;
  }

  const hosts = TABLE.hosts["web-demo/test/e2e/restores.test.ts"]!;
  expect(Object.keys(given).sort()).toEqual([...hosts].sort());
  for (const host of hosts) expect({ host, files: given[host] }).toEqual({ host, files: expected });
});

async function download(snapshot: string, entries: string[]): Promise<string> {
  const arriving = tab.page.waitForEvent("download");
  await tab.page.evaluate(async ({ snapshot, entries }) => {
    const run = await window.core.download(snapshot, entries, { askWhere: false });
    return run.done;
  }, { snapshot, entries });
  return (await arriving).path();
}
