//! Trouble: what goes wrong is said in the right words, and loses nothing.

import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Route } from "playwright-core";
import { expect, test } from "vitest";

import { PASSPHRASE, backUp, generate, listing, open, unlock } from "./kit";
import { browser, machine, setting, tab, web } from "./setting";

// What the network does to requests here is on purpose.
setting((stray) => /ERR_|Failed to load/.test(stray));

/** The code of the problem that something fails with in the page. */
function failing(code: string, argument: unknown = null): Promise<string> {
  // As text, which the debugger runs: the page's policy lets nobody else make a script of a text.
  return tab.page.evaluate<string>(`(async (core, argument) => {
    try {
      ${code};
      return "nothing";
    } catch (error) {
      return error.problem?.code ?? String(error);
    }
  })(window.core, ${JSON.stringify(argument)})`);
}

function restoredAs(name: string, folder: string, snapshot: string): void {
  machine.copal(["restore", snapshot, "--target", "out"]);
  const expected = Object.fromEntries(Object.entries(listing(folder)).map(([path, hash]) => [`${name}/${path}`, hash]));
  expect(listing(machine.path("out"))).toEqual(expected);
}

function packs(): number {
  const folder = machine.path("repository/packs");
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).reduce((sum, name) => {
    const stat = statSync(join(folder, name));
    return stat.isFile() ? sum + stat.size : sum;
  }, 0);
}

function manifests(): number {
  const folder = machine.path("repository/manifests");
  return existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length : 0;
}

/** Begins a backup through the directory input and leaves it running. */
async function begin(folder: string): Promise<void> {
  await tab.page.setInputFiles("#folder", folder);
  await tab.page.evaluate(async () => {
    const files = (document.getElementById("folder") as HTMLInputElement).files!;
    const folder = await window.core.folderFromInput(files);
    const run = await window.core.startBackup({ folder: folder.id, label: "photos", excludes: [], remember: false });
    const seen = { states: [] as string[], progress: null as unknown, outcome: null as unknown };
    Object.assign(window, { seen, run });
    run.onProgress((progress) => {
      seen.progress = progress;
      const state = `${progress.phase} ${progress.state} ${progress.problem?.code ?? ""}`;
      if (seen.states.at(-1) !== state) seen.states.push(state);
    });
    run.done.then(
      (result) => (seen.outcome = { result }),
      (error: { problem: unknown }) => (seen.outcome = { problem: error.problem }),
    );
  });
}

interface Seen {
  states: string[];
  progress: { storedBytes: number; state: string; problem: { code: string } | null } | null;
  outcome: { result?: { snapshot: string; receipt: string; resumed: boolean; files: number }; problem?: { code: string } } | null;
}

async function until(holds: (seen: Seen) => boolean, what: string): Promise<Seen> {
  const deadline = Date.now() + 240_000;
  for (;;) {
    const seen = await tab.page.evaluate(() => (window as unknown as { seen: Seen }).seen);
    if (holds(seen)) return seen;
    if (Date.now() > deadline) throw new Error(`never: ${what}; ${JSON.stringify(seen)}`);
    await tab.page.waitForTimeout(50);
  }
}

test("a wrong passphrase is told as one, and the right one still opens", async () => {
  expect(await failing(`await core.unlock({ by: "passphrase", passphrase: "no" })`)).toBe("passphrase-wrong");
  expect(await failing(`await core.unlock({ by: "passphrase", passphrase: "" })`)).toBe("passphrase-empty");
  expect(await failing(`await core.unlock({ by: "recovery-code", code: "ABC" })`)).toBe("code-malformed");
  expect(await failing(`await core.snapshots()`)).toBe("locked");
  await unlock(tab);
  expect(await failing(`await core.snapshots()`)).toBe("nothing");
  expect(await failing(`await core.lock(); await core.snapshots()`)).toBe("locked");
});

test("an engine that cannot be fetched is told, and fetched again when it is asked for", async () => {
  let isAway = true;
  let asked = 0;
  await tab.context.route(/copal_bg/, (route) => {
    asked += 1;
    return isAway ? route.abort() : route.continue();
  });
  const { server } = await tab.page.evaluate(() => window.core.environment());
  expect(server).toMatchObject({ state: "unreachable", problem: { code: "server-gone" } });
  expect(await failing(`await core.unlock({ by: "passphrase", passphrase: argument })`, PASSPHRASE)).toBe("server-gone");
  expect(asked).toBe(2);
  isAway = false;
  await unlock(tab);
  expect(await failing(`await core.snapshots()`)).toBe("nothing");
  expect(asked).toBe(3);
});

test("what only a backup needs is fetched when one begins; if it cannot be had, that is told, and it is fetched again", async () => {
  const asked: string[] = [];
  let lacks: [what: RegExp, how: (route: Route) => Promise<void>] | null = null;
  await tab.context.route(/sealing_bg|backing-/, (route) => {
    asked.push(route.request().url());
    return lacks?.[0].test(asked.at(-1)!) ? lacks[1](route) : route.continue();
  });
  const folder = machine.path("Pictures");
  generate(folder, { files: 5, large: 0 });
  await unlock(tab);
  expect(await failing(`await core.snapshots()`)).toBe("nothing");
  expect(asked).toEqual([]);
  await tab.page.setInputFiles("#folder", folder);
  const start = () => failing(`
    const folder = await core.folderFromInput(document.getElementById("folder").files);
    await core.startBackup({ folder: folder.id, label: "photos", excludes: [], remember: false })`);
  // The server has another page by now.
  for (const what of [/backing-/, /sealing_bg/]) {
    lacks = [what, (route) => route.fulfill({ status: 404 })];
    expect(await start()).toBe("part-gone");
  }
  lacks = [/sealing_bg/, (route) => route.abort()];
  expect(await start()).toBe("server-gone");
  lacks = null;
  expect((await backUp(tab, folder)).receipt).toBe("verified");
});

test("a server that is killed in the middle is waited for, and everything is there in the end", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 60, large: 160 << 20 });
  await unlock(tab);
  await begin(folder);
  await until((seen) => (seen.progress?.storedBytes ?? 0) > 0, "something is stored");
  await machine.kill();
  const waiting = await until((seen) => seen.progress?.state === "retrying" || seen.outcome !== null, "it is retrying");
  expect(waiting.outcome).toBeNull();
  expect(waiting.progress?.problem?.code).toBe("server-gone");
  await machine.serve(web);
  const seen = await until((seen) => seen.outcome !== null, "it ends");
  expect(seen.outcome).toMatchObject({ result: { receipt: "verified" } });
  restoredAs("Pictures", folder, seen.outcome!.result!.snapshot);
});

test("without a network it pauses, says so, and goes on by itself", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 100, large: 160 << 20 });
  await unlock(tab);
  await begin(folder);
  await until((seen) => (seen.progress?.storedBytes ?? 0) > 0, "something is stored");
  await tab.context.setOffline(true);
  const seen = await until((seen) => seen.progress?.state === "offline" || seen.outcome !== null, "it is offline");
  expect(seen.outcome).toBeNull();
  await tab.context.setOffline(false);
  const { outcome } = await until((seen) => seen.outcome !== null, "it ends");
  expect(outcome).toMatchObject({ result: { receipt: "verified" } });
  restoredAs("Pictures", folder, outcome!.result!.snapshot);
});

test("a tab that is cancelled and reloaded goes on where it was, and uploads nothing twice", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 60, large: 160 << 20 });
  await unlock(tab);
  await begin(folder);
  await until((seen) => (seen.progress?.storedBytes ?? 0) > 0, "something is stored");
  await tab.page.evaluate(() => (window as unknown as { run: { cancel(): void } }).run.cancel());
  expect((await until((seen) => seen.outcome !== null, "it ends")).outcome).toMatchObject({ problem: { code: "cancelled" } });
  // A machine that needs longer than the grace ends without a manifest: then all goes up again.
  const before = manifests() > 0 ? packs() : 0;
  expect(packs()).toBeGreaterThan(0);
  await tab.page.reload();
  await tab.page.waitForSelector("body[data-ready=yes]", { state: "attached" });
  await unlock(tab);
  const result = await backUp(tab, folder);
  expect(result).toMatchObject({ receipt: "verified", resumed: true });
  expect(result.storedBytes).toBeLessThan((176 << 20) - before + (2 << 20));
  restoredAs("Pictures", folder, result.snapshot);
});

test("a tab that is closed in the middle leaves a sound repository, and the next run finishes", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 60, large: 160 << 20 });
  await unlock(tab);
  await begin(folder);
  await until((seen) => (seen.progress?.storedBytes ?? 0) > 0, "something is stored");
  await tab.page.close({ runBeforeUnload: false });
  machine.copal(["check"]);
  tab.page = await tab.context.newPage();
  await tab.page.goto(machine.url);
  await tab.page.waitForSelector("body[data-ready=yes]", { state: "attached" });
  await unlock(tab);
  const result = await backUp(tab, folder);
  expect(result).toMatchObject({ receipt: "verified", resumed: true });
  restoredAs("Pictures", folder, result.snapshot);
});

test("a device that was enrolled by a link backs up and compares, cannot restore, and is stopped when it is revoked", async () => {
  const added = JSON.parse(machine.copal(["client", "add", "--name", "phone", "--role", "write-only", "--json"])) as { line: string };
  const { line } = added;
  await tab.page.goto("about:blank");
  await tab.page.goto(`${machine.url}/#join=${encodeURIComponent(line)}`);
  await tab.page.waitForSelector("body[data-ready=yes]", { state: "attached" });
  expect(tab.page.url()).toBe(`${machine.url}/`);
  const session = await tab.page.evaluate(async () => {
    const environment = await window.core.environment();
    return { link: environment.hasEnrollmentLink, session: await window.core.unlock({ by: "link", name: "phone" }) };
  });
  expect(session).toMatchObject({ link: true, session: { role: "write-only" } });
  const folder = machine.path("Camera");
  generate(folder, { files: 120, large: 4 << 20 });
  const first = await backUp(tab, folder);
  expect(first.receipt).toBe("verified");
  await tab.page.reload();
  await tab.page.waitForSelector("body[data-ready=yes]", { state: "attached" });
  await tab.page.evaluate(async () => {
    const { device } = await window.core.environment();
    if (device.role !== "write-only") throw new Error(JSON.stringify(device));
    await window.core.unlock({ by: "device" });
  });
  const again = await backUp(tab, folder);
  expect(again).toMatchObject({ unchangedFiles: first.files, newBytes: 0 });
  expect(await failing(`await core.snapshots()`)).toBe("not-permitted");
  expect(await failing(`const status = await core.status(); if (status.receipts.length !== 2) throw new Error(JSON.stringify(status))`)).toBe("nothing");
  restoredAs("Camera", folder, again.snapshot);
  const id = (await tab.page.evaluate(async () => (await window.core.session())!.client))!;
  expect(await failing(`await core.unlock({ by: "enrollment", line: argument })`, line.slice(0, 50))).toBe("enrollment-malformed");
  machine.copal(["client", "revoke", id]);
  await tab.page.waitForTimeout(11_000);
  expect(await failing(`await core.unlock({ by: "device" })`)).toBe("device-revoked");
  const thief = await open(browser, machine.url);
  const stolen = await thief.page.evaluate(async (line) => {
    await window.core.environment();
    return window.core.unlock({ by: "enrollment", line }).then(() => "joined", (error: { problem: { code: string } }) => error.problem.code);
  }, line);
  expect(["enrollment-used", "device-revoked", "device-unknown", "enrollment-unknown"]).toContain(stolen);
  await thief.context.close();
});

test("an enrollment that has expired is told as such, whatever it was for, and the browser keeps nothing of it", async () => {
  for (const role of ["write-only", "full"]) {
    const added = machine.copal(["client", "add", "--name", role, "--role", role, "--expires", "1s", "--json"]);
    const { line, client } = JSON.parse(added) as { line: string; client: string };
    await tab.page.waitForTimeout(2_500);
    const stranger = await open(browser, machine.url);
    const told = await stranger.page.evaluate(async (line) => {
      const code = await window.core.unlock({ by: "enrollment", line, passphrase: "x" }).then(() => "joined", (error: { problem: { code: string } }) => error.problem.code);
      return [code, (await window.core.environment()).device.role];
    }, line);
    expect(told).toEqual(["enrollment-expired", "none"]);
    const row = (JSON.parse(machine.copal(["client", "list", "--json"])) as { id: string; joined: boolean }[]).find(({ id }) => id === client);
    expect(row).toMatchObject({ joined: false });
    await stranger.context.close();
  }
});

test("a disk that becomes full is told as such, and there is no damage", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 50, large: 40 << 20 });
  await unlock(tab);
  await machine.kill("SIGTERM");
  machine.environment = { COPAL_FULL_AT: "20" };
  await machine.serve(web);
  await begin(folder);
  expect((await until((seen) => seen.outcome !== null, "it ends")).outcome).toMatchObject({ problem: { code: "server-full" } });
  await machine.kill("SIGTERM");
  machine.environment = {};
  machine.copal(["check", "--read-data"]);
  await machine.serve(web);
  const result = await backUp(tab, folder);
  expect(result).toMatchObject({ receipt: "verified" });
  restoredAs("Pictures", folder, result.snapshot);
});

test("a quota that is used up is told as such, and what is stored stays of use", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 50, large: 40 << 20 });
  await machine.kill("SIGTERM");
  await machine.serve(web, ["--quota", "24MiB"]);
  await unlock(tab);
  await begin(folder);
  expect((await until((seen) => seen.outcome !== null, "it ends")).outcome).toMatchObject({ problem: { code: "quota" } });
  await machine.kill("SIGTERM");
  await machine.serve(web);
  const result = await backUp(tab, folder);
  expect(result).toMatchObject({ receipt: "verified" });
  restoredAs("Pictures", folder, result.snapshot);
});

test("nothing secret is in what the browser keeps in the clear, nor in the address", async () => {
  await unlock(tab);
  const folder = machine.path("Pictures");
  generate(folder, { files: 20, large: 1 << 20 });
  await backUp(tab, folder);
  const kept = await tab.page.evaluate(async () => {
    const rows: string[] = [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie, location.href];
    const database = await new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open("copal");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    for (const table of database.objectStoreNames) {
      rows.push(
        await new Promise((resolve) => {
          const request = database.transaction(table).objectStore(table).getAll();
          request.onsuccess = () => resolve(JSON.stringify(request.result, (_, value: unknown) => (value instanceof Uint8Array ? new TextDecoder("latin1").decode(value) : value)));
        }),
      );
    }
    const names: string[] = [];
    const visit = async (folder: FileSystemDirectoryHandle, path: string) => {
      for await (const [name, handle] of (folder as unknown as { entries(): AsyncIterable<[string, FileSystemHandle]> }).entries()) {
        if (handle.kind === "directory") await visit(handle as FileSystemDirectoryHandle, `${path}/${name}`);
        else {
          names.push(`${path}/${name}`);
          rows.push(new TextDecoder("latin1").decode(await (await (handle as FileSystemFileHandle).getFile()).arrayBuffer()));
        }
      }
    };
    await visit(await navigator.storage.getDirectory(), "");
    return { rows: rows.join("\n"), names };
  });
  expect(kept.names.length).toBeGreaterThan(0);
  expect(kept.rows).not.toContain(PASSPHRASE);
  // A copy of the tree is kept, sealed: no name of a file can be read in it.
  expect(kept.rows).not.toContain("decomposed");
});

test("of two dropped files of one name none is lost unnamed", async () => {
  for (const place of ["here", "there"]) {
    mkdirSync(machine.path(place));
    writeFileSync(join(machine.path(place), "report.txt"), place);
  }
  await unlock(tab);
  const box = (await tab.page.locator("#drop").boundingBox())!;
  const devtools = await tab.context.newCDPSession(tab.page);
  const data = { items: [], files: ["here", "there"].map((place) => join(machine.path(place), "report.txt")), dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await devtools.send("Input.dispatchDragEvent", { type, x: box.x + 5, y: box.y + 5, data });
  }
  const { result, incomplete } = await tab.page.evaluate(async () => {
    while (!window.dropped) await new Promise((resolve) => setTimeout(resolve, 20));
    const folder = await window.dropped;
    const run = await window.core.startBackup({ folder: folder.id, label: "reports", excludes: [], remember: false });
    const result = await run.done;
    return { result, incomplete: (await window.core.snapshots()).snapshots[0]!.troubles.unreadable > 0 };
  });
  // This browser gives the second one another name; where one does not, it is named, and the snapshot incomplete.
  expect(result.files + result.leftOut.badNames).toBe(2);
  expect(incomplete).toBe(result.leftOut.badNames > 0);
});
