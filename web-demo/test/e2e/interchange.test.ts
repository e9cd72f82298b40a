//! Between the tab and the command: what one has stored, the other restores bit for bit.

import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

import { PASSPHRASE, backUp, drop, generate, listing, open, unlock } from "./kit";
import { browser, machine, setting, tab, web } from "./setting";

setting();

/** The tree of a snapshot, as the command restores it. */
function restored(snapshot: string): Record<string, string> {
  rmSync(machine.path("out"), { recursive: true, force: true });
  machine.copal(["restore", snapshot, "--target", "out"]);
  return listing(machine.path("out"));
}

test("a folder that went in through the tab is restored by the command bit for bit, and only changes are stored again", async () => {
  const folder = machine.path("Pictures");
  generate(folder);
  await unlock(tab);
  const first = await backUp(tab, folder);
  const expected = Object.fromEntries(Object.entries(listing(folder)).map(([path, hash]) => [`Pictures/${path}`, hash]));
  expect(first).toMatchObject({ files: Object.keys(expected).length, receipt: "verified", resumed: false });
  expect(first.leftOut).toMatchObject({ unreadable: 0, excluded: 0 });
  expect(restored(first.snapshot)).toEqual(expected);

  const again = await backUp(tab, folder);
  expect(again).toMatchObject({ files: first.files, unchangedFiles: first.files, newBytes: 0, receipt: "verified" });
  expect(again.storedBytes).toBeLessThan(20_000);

  writeFileSync(join(folder, "new.txt"), "new");
  writeFileSync(join(folder, "many/3/file 3.txt"), "changed");
  rmSync(join(folder, "same/b.bin"));
  const third = await backUp(tab, folder);
  expect(third).toMatchObject({ newFiles: 1, changedFiles: 1, files: first.files });
  expect(third.storedBytes).toBeLessThan(60_000);
  const now = Object.fromEntries(Object.entries(listing(folder)).map(([path, hash]) => [`Pictures/${path}`, hash]));
  expect(restored(third.snapshot)).toEqual(now);
  // It ends with another code if it finds anything.
  machine.copal(["check", "--read-data"]);
});

test("a restore that deletes leaves alone what the browser did not show, and so was never saved", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 5, large: 0 });
  mkdirSync(join(folder, "empty"));
  await unlock(tab);
  const { snapshot } = await backUp(tab, folder);
  cpSync(folder, machine.path("out/Pictures"), { recursive: true });
  machine.copal(["restore", snapshot, "--target", "out", "--delete"]);
  expect(existsSync(machine.path("out/Pictures/empty"))).toBe(true);
  // Whoever knows better says so.
  machine.copal(["restore", snapshot, "--target", "out", "--delete", "--delete-excluded"]);
  expect(existsSync(machine.path("out/Pictures/empty"))).toBe(false);
});

test("what a browser that remembers nothing backs up again is known, and not uploaded twice", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 200 });
  await unlock(tab);
  await backUp(tab, folder);
  const other = await open(browser, machine.url);
  await unlock(other);
  const again = await backUp(other, folder, "photos", [], "Another browser");
  expect(again.newBytes).toBe(0);
  expect(again.knownBytes).toBeGreaterThan(12 << 20);
  expect(other.strays).toEqual([]);
  await other.context.close();
});

test("a folder that is dropped on the page is backed up whole", async () => {
  const folder = machine.path("Dropped");
  generate(folder, { files: 250, large: 5 << 20 });
  await unlock(tab);
  await drop(tab, folder);
  const result = await tab.page.evaluate(async () => {
    while (!window.dropped) await new Promise((resolve) => setTimeout(resolve, 20));
    const folder = await window.dropped;
    const run = await window.core.startBackup({ folder: folder.id, label: "", excludes: ["zeros.*", "many/1/"], remember: false });
    return { folder, result: await run.done };
  });
  expect(result.folder).toMatchObject({ name: "Dropped", via: "drop" });
  expect(result.result.leftOut.excluded).toBe(2);
  const expected = Object.entries(listing(folder)).filter(([path]) => !path.startsWith("zeros.") && !path.startsWith("many/1/"));
  expect(restored(result.result.snapshot)).toEqual(Object.fromEntries(expected.map(([path, hash]) => [`Dropped/${path}`, hash])));
});

test("a dropped folder is backed up with the names that the browser hides from whoever opens it by a handle", async () => {
  const folder = machine.path("Trip");
  const names = ["where are we?/10:30.jpg", "say \"cheese\".jpg", "notes.txt~", " first", "last.", "site.url", "aux.c", "back\\slash", "plain.txt", "\u{1f9d6}\u{1f3fc}\u200d\u2640\ufe0f.jpg"];
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), name);
  }
  namesThatAreNotText(folder);
  await unlock(tab);
  await drop(tab, folder);
  const { result, incomplete } = await tab.page.evaluate(async () => {
    while (!window.dropped) await new Promise((resolve) => setTimeout(resolve, 20));
    const run = await window.core.startBackup({ folder: (await window.dropped).id, label: "Trip", excludes: [], remember: false });
    const result = await run.done;
    return { result, incomplete: (await window.core.snapshots()).snapshots[0]!.troubles.unreadable > 0 };
  });
  // What the browser does not hand out is told, as well as it names it, and the snapshot says that it is not whole.
  expect(result.leftOut.examples).toEqual([NOT_TEXT, NOT_TEXT]);
  expect(incomplete).toBe(true);
  const expected = names.map((name) => [`Trip/${name}`, createHash("sha256").update(name).digest("hex")]);
  expect(restored(result.snapshot)).toEqual(Object.fromEntries(expected));
});

test("a backup through a handle names where it left out names that are not text", async () => {
  const folder = machine.path("Trip");
  mkdirSync(folder);
  writeFileSync(join(folder, "plain.txt"), "plain");
  namesThatAreNotText(folder);
  await unlock(tab);
  await drop(tab, folder);
  const { dropped, result } = await tab.page.evaluate(async () => {
    while (!window.dropped) await new Promise((resolve) => setTimeout(resolve, 20));
    const dropped = await window.dropped;
    const run = await window.core.startBackup({ folder: dropped.id, label: "Trip", excludes: [], remember: false });
    return { dropped, result: await run.done };
  });
  expect(dropped.canRemember, "it is a handle").toBe(true);
  expect(result).toMatchObject({ files: 1, leftOut: { unreadable: 2, examples: [NOT_TEXT, NOT_TEXT] } });
});

test("a list of a folder lacks names that are not text, and says so before the start", async () => {
  const folder = machine.path("Trip");
  mkdirSync(folder);
  writeFileSync(join(folder, "plain.txt"), "plain");
  namesThatAreNotText(folder);
  await tab.page.setInputFiles("#folder", folder);
  const chosen = await tab.page.evaluate(() => window.core.folderFromInput((document.getElementById("folder") as HTMLInputElement).files!));
  expect(chosen).toMatchObject({ files: 1, blindTo: ["names-not-text", "empty-folders", "links", "permissions"] });
});

test("what the command has backed up is browsed, searched, previewed and downloaded in the tab bit for bit", async () => {
  const folder = machine.path("source/Papers");
  generate(folder, { files: 300 });
  execFileSync("ln", ["-s", "text.log", join(folder, "link")]);
  mkdirSync(join(folder, "nothing in it"));
  machine.copal(["backup", "source/Papers"], { COPAL_REPOSITORY: machine.url });
  await unlock(tab);
  const seen = await tab.page.evaluate(async () => {
    const { snapshots, damage } = await window.core.snapshots();
    const snapshot = snapshots[0]!;
    let at = "";
    const path: string[] = [];
    // Down to the folder that was backed up: the command keeps whole paths.
    for (;;) {
      const page = await window.core.directory(snapshot.id, at, null, 100);
      if (page.entries.length !== 1 || page.entries[0]!.kind !== "directory") break;
      at = page.entries[0]!.id;
      path.push(page.entries[0]!.name);
    }
    const names: string[] = [];
    for (let next: string | null = null, more = true; more; ) {
      const page: Awaited<ReturnType<typeof window.core.directory>> = await window.core.directory(snapshot.id, at, next, 3);
      names.push(...page.entries.map(({ name, kind }) => `${kind}:${name}`));
      [next, more] = [page.next, page.next !== null];
    }
    const search = await (await window.core.search(snapshot.id, at, "FILE 29")).done;
    const text = (await (await window.core.search(snapshot.id, at, "übergr")).done).hits[0]!;
    const preview = await window.core.preview(snapshot.id, text.id, 1_000);
    return {
      damage, at, path, names, snapshot, measure: await window.core.measure(snapshot.id, [at]),
      hits: search.hits.length, preview: { ...preview, bytes: new TextDecoder().decode(preview.bytes) },
    };
  });
  const expected = listing(folder);
  expect(seen.damage).toEqual([]);
  expect(seen.path.at(-1)).toBe("Papers");
  expect(seen.names).toContain("symlink:link");
  expect(seen.names).toContain("directory:nothing in it");
  expect(seen.names.length).toBe(new Set(seen.names).size);
  expect(seen.hits).toBe(Object.keys(expected).filter((path) => /file 29/.test(path)).length);
  expect(seen.preview).toMatchObject({ bytes: "Grüße", kind: "text" });
  expect(seen.measure.files).toBe(Object.keys(expected).length - 1);

  const zip = await download(seen.snapshot.id, [seen.at]);
  expect(zip.result).toMatchObject({ files: Object.keys(expected).length - 1, damaged: [], skipped: [] });
  execFileSync("unzip", ["-q", zip.path, "-d", machine.path("unzipped")]);
  const unzipped = machine.path("unzipped/Papers");
  expect(listing(unzipped)).toEqual(expected);

  const one = await download(seen.snapshot.id, [`${seen.at}/noise.bin`]);
  cpSync(one.path, machine.path("single"));
  expect(execFileSync("cmp", [machine.path("single"), join(folder, "noise.bin")]).toString()).toBe("");
});

/** Names of the packs that the repository has. */
function packs(): string[] {
  const names = readdirSync(machine.path("repository"), { recursive: true, withFileTypes: true });
  return names.filter((entry) => entry.isFile() && /\/(packs|moved)\//.test(entry.parentPath)).map(({ name }) => name);
}

async function download(snapshot: string, entries: string[]) {
  const arriving = tab.page.waitForEvent("download");
  const result = await tab.page.evaluate(
    async ({ snapshot, entries }) => {
      const run = await window.core.download(snapshot, entries, { askWhere: false });
      return run.done.catch((error: { problem?: unknown }) => Promise.reject(new Error(JSON.stringify(error.problem))));
    },
    { snapshot, entries },
  );
  const arrived = await arriving;
  return { result, path: await arrived.path(), name: arrived.suggestedFilename() };
}

test("what a prune moves while a list is open is found where it lies now", async () => {
  const folder = machine.path("source/Papers");
  mkdirSync(folder, { recursive: true });
  for (let at = 0; at < 12; at++) {
    writeFileSync(join(folder, `${at}.bin`), randomBytes(200_000));
    machine.copal(["backup", "source/Papers"], { COPAL_REPOSITORY: machine.url });
  }
  await unlock(tab);
  const found = await tab.page.evaluate(async () => {
    const { snapshots } = await window.core.snapshots();
    const run = await window.core.search(snapshots[0]!.id, "", ".bin");
    return { snapshot: snapshots[0]!.id, hits: (await run.done).hits.map(({ id, name }) => ({ id, name })) };
  });
  expect(found.hits.length).toBe(12);
  const before = packs();
  machine.copal(["prune", "--grace", "0s"]);
  expect(packs().filter((pack) => before.includes(pack))).toEqual([]);

  const top = found.hits[0]!.id.replace(/\/[^/]*$/, "");
  const kind = await tab.page.evaluate(async ({ snapshot, id }) => (await window.core.preview(snapshot, id, 1_000)).kind, { snapshot: found.snapshot, id: found.hits[3]!.id });
  expect(kind).toBe("binary");
  const zip = await download(found.snapshot, [top]);
  expect(zip.result).toMatchObject({ files: 12, damaged: [] });
  execFileSync("unzip", ["-q", zip.path, "-d", machine.path("unzipped")]);
  expect(listing(machine.path("unzipped/Papers"))).toEqual(listing(folder));
});

test("an export that the command serves opens with its own passphrase, and is restored in the page", async () => {
  writeFileSync(machine.path("letter.txt"), "saved once");
  writeFileSync(machine.path("secret"), PASSPHRASE);
  machine.copal(["backup", "letter.txt"], { COPAL_REPOSITORY: machine.url });
  machine.copal(["export", "latest", "letter.copal", "--to-password-file", "secret"]);
  await machine.kill();
  machine.repository = machine.path("letter.copal");
  await machine.serve(web);
  const other = await open(browser, machine.url);
  await unlock(other);
  const restored = await other.page.evaluate(async () => {
    const picked = await (await navigator.storage.getDirectory()).getDirectoryHandle("picked", { create: true });
    Object.assign(window, { showDirectoryPicker: async () => picked });
    const { snapshots } = await window.core.snapshots();
    const hit = (await (await window.core.search(snapshots[0]!.id, "", "letter.txt")).done).hits[0]!;
    await (await window.core.restoreInto(snapshots[0]!.id, [hit.id], async () => "leave"))!.done;
    return [snapshots.length, await (await (await picked.getFileHandle("letter.txt")).getFile()).text()];
  });
  expect(restored).toEqual([1, "saved once"]);
  expect(other.strays).toEqual([]);
  await other.context.close();
});

test("two snapshots are compared", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 60, large: 1 << 20 });
  await unlock(tab);
  await backUp(tab, folder);
  writeFileSync(join(folder, "many/0/file 0.txt"), "changed");
  writeFileSync(join(folder, "added.txt"), "added");
  rmSync(join(folder, "text.log"));
  await backUp(tab, folder);
  const changes = await tab.page.evaluate(async () => {
    const { snapshots } = await window.core.snapshots();
    const [after, before] = snapshots;
    const found: string[] = [];
    for (let cursor: string | null = null, more = true; more; ) {
      const page: Awaited<ReturnType<typeof window.core.compare>> = await window.core.compare(before!.id, after!.id, cursor, 2);
      found.push(...page.changes.filter(({ before, after }) => (after ?? before)!.kind === "file").map(({ kind, path }) => `${kind} ${path}`));
      [cursor, more] = [page.next, page.next !== null];
    }
    return found;
  });
  expect(changes.sort()).toEqual(["added Pictures/added.txt", "changed Pictures/many/0/file 0.txt", "removed Pictures/text.log"]);
});

test("what is restored into a picked folder is there bit for bit, and what was there already is not written over", async () => {
  const folder = machine.path("source/Papers");
  generate(folder, { files: 120, large: 5 << 20 });
  mkdirSync(join(folder, "nothing in it"));
  const odd = ["system-systemd\\x2dfsck.slice", "photo\u202egnp.exe", "line\nbreak"];
  for (const name of odd) writeFileSync(join(folder, name), name);
  machine.copal(["backup", "source/Papers"], { COPAL_REPOSITORY: machine.url });
  const expected = listing(folder);
  await unlock(tab);
  const { result, written, folders } = await tab.page.evaluate(async (top) => {
    const picked = await (await navigator.storage.getDirectory()).getDirectoryHandle("picked", { create: true });
    const mine = await (await (await picked.getDirectoryHandle("Papers", { create: true })).getFileHandle("text.log", { create: true })).createWritable();
    await mine.write("mine");
    await mine.close();
    // Nobody is there to answer the browser's dialog.
    Object.assign(window, { showDirectoryPicker: async () => picked });
    const { snapshots } = await window.core.snapshots();
    const hit = (await (await window.core.search(snapshots[0]!.id, "", top)).done).hits.find(({ kind }) => kind === "directory")!;
    const run = (await window.core.restoreInto(snapshots[0]!.id, [hit.id], async () => "leave"))!;
    const result = await run.done.catch((error: { problem?: unknown }) => Promise.reject(new Error(JSON.stringify(error.problem))));
    const [written, folders] = [{} as Record<string, string>, [] as string[]];
    const visit = async (at: FileSystemDirectoryHandle, path: string): Promise<void> => {
      for await (const [name, handle] of (at as unknown as { entries(): AsyncIterable<[string, FileSystemHandle]> }).entries()) {
        if (handle.kind === "directory") {
          folders.push(`${path}${name}`);
          await visit(handle as FileSystemDirectoryHandle, `${path}${name}/`);
        } else {
          const digest = await crypto.subtle.digest("SHA-256", await (await (handle as FileSystemFileHandle).getFile()).arrayBuffer());
          written[`${path}${name}`] = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
        }
      }
    };
    await visit(picked, "");
    return { result, written, folders };
  }, "Papers");
  // A browser takes no name with a backslash or a line end: what is not written is named, and why.
  const left = new Map(result.skipped.map(({ path, why }) => [path.slice(path.indexOf("Papers/") + "Papers/".length), why]));
  expect(left.get("text.log")).toBe("exists");
  left.delete("text.log");
  expect([...left.keys()].filter((name) => !odd.includes(name))).toEqual([]);
  expect(new Set(left.values())).toEqual(new Set(left.size > 0 ? ["bad-name"] : []));
  const want = Object.fromEntries(Object.entries(expected).filter(([path]) => !left.has(path)).map(([path, hash]) => [`Papers/${path}`, hash]));
  const mine = createHash("sha256").update("mine").digest("hex");
  expect(written).toEqual({ ...want, "Papers/text.log": mine });
  expect(folders).toContain("Papers/nothing in it");
  expect(result.damaged).toEqual([]);
});

test("what is there already is asked about, and what the person says is done", async () => {
  const folder = machine.path("Papers");
  mkdirSync(folder);
  for (const name of ["same.txt", "changed.txt", "missing.txt"]) writeFileSync(join(folder, name), name);
  await unlock(tab);
  await backUp(tab, folder);
  const given = await tab.page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const id = (await window.core.snapshots()).snapshots[0]!.id;
    const put = async (at: FileSystemDirectoryHandle, name: string, text: string) => {
      const file = await (await at.getFileHandle(name, { create: true })).createWritable();
      await file.write(text);
      await file.close();
    };
    const read = async (at: FileSystemDirectoryHandle, path: string): Promise<string[]> => {
      const lines: string[] = [];
      for await (const [name, handle] of (at as unknown as { entries(): AsyncIterable<[string, FileSystemHandle]> }).entries()) {
        if (handle.kind === "directory") lines.push(...(await read(handle as FileSystemDirectoryHandle, `${path}${name.replace(/[0-9]/g, "0")}/`)));
        else lines.push(`${path}${name}: ${await (await (handle as FileSystemFileHandle).getFile()).text()}`);
      }
      return lines.sort();
    };
    const restored = async (choice: "subfolder" | "both" | "replace" | "leave" | null) => {
      const picked = await root.getDirectoryHandle(`into ${choice}`, { create: true });
      const papers = await picked.getDirectoryHandle("Papers", { create: true });
      await put(papers, "same.txt", "same.txt");
      await put(papers, "changed.txt", "mine");
      Object.assign(window, { showDirectoryPicker: async () => picked });
      let asked: unknown = null;
      const run = await window.core.restoreInto(id, ["Papers"], async (found) => ((asked = found), choice));
      const skipped = (await run?.done)?.skipped.map(({ path }) => path).sort() ?? null;
      return { asked, skipped, there: await read(picked, "") };
    };
    const empty = await root.getDirectoryHandle("empty", { create: true });
    Object.assign(window, { showDirectoryPicker: async () => empty });
    let isAsked = false;
    await (await window.core.restoreInto(id, ["Papers"], async () => ((isAsked = true), null)))!.done;
    return {
      isAsked, empty: await read(empty, ""), subfolder: await restored("subfolder"), both: await restored("both"), replace: await restored("replace"),
      leave: await restored("leave"), none: await restored(null),
    };
  });
  const mine = ["Papers/changed.txt: mine", "Papers/same.txt: same.txt"];
  const whole = ["Papers/changed.txt: changed.txt", "Papers/missing.txt: missing.txt", "Papers/same.txt: same.txt"];
  expect(given.isAsked).toBe(false);
  expect(given.empty).toEqual(whole);
  expect(given.subfolder.asked).toEqual({ folder: "into subfolder", names: ["Papers"] });
  expect(given.subfolder.there).toEqual([...mine, ...whole.map((line) => `Restored 0000-00-00 00.00/${line}`)]);
  expect(given.both.there).toEqual(["Papers/changed (restored).txt: changed.txt", "Papers/changed.txt: mine", "Papers/missing.txt: missing.txt", "Papers/same.txt: same.txt"]);
  expect(given.replace.there).toEqual(whole);
  expect(given.leave).toMatchObject({ skipped: ["Papers/changed.txt", "Papers/same.txt"], there: [mine[0], whole[1], mine[1]] });
  expect(given.none).toMatchObject({ skipped: null, there: mine });
});

const NOT_TEXT = { path: "Trip/", why: "unreadable", detail: "NameIsNotText" };

/** A file, and a folder with a file in it. */
function namesThatAreNotText(folder: string): void {
  const name = (...bytes: number[]) => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(bytes)]);
  writeFileSync(name(0xff), "its name is no text");
  mkdirSync(name(0xfe));
  writeFileSync(name(0xfe, 0x2f, 0x61), "its folder's name is no text");
}
