//! Devices: browsers that are told apart, and one that was revoked.

import { expect, test } from "vitest";

import { type Tab, generate, open, unlock } from "./kit";
import { browser, machine, setting, tab } from "./setting";

setting();

/** Backs a folder up for the first time under a name of the device; what came of it, or why not. */
async function firstBackup({ page }: Tab, folder: string, device: string) {
  await page.setInputFiles("#folder", folder);
  return page.evaluate(async (device) => {
    const folder = await window.core.folderFromInput((document.getElementById("folder") as HTMLInputElement).files!);
    let told = 0;
    const stop = window.core.subscribe((event) => void (told += Number(event.type === "changed" && event.what === "session")));
    try {
      const run = await window.core.startBackup({ folder: folder.id, label: "photos", excludes: [], remember: false, device });
      await run.done;
      return { session: await window.core.session(), told, code: null };
    } catch (error) {
      return { session: await window.core.session(), told, code: (error as { problem: { code: string } }).problem.code };
    } finally {
      stop();
    }
  }, device);
}

test("two browsers have two names and two series, and a name that another has is refused before anything is registered", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 10, large: 1 << 20 });
  await unlock(tab);
  const first = await firstBackup(tab, folder, "Anna's laptop");
  expect(first).toMatchObject({ code: null, told: 1, session: { deviceName: "Anna's laptop" } });
  expect(first.session!.client).not.toBeNull();

  const other = await open(browser, machine.url);
  await unlock(other);
  expect(await firstBackup(other, folder, " anna's LAPTOP ")).toMatchObject({ code: "name-taken", told: 0, session: { client: null } });
  expect(await firstBackup(other, folder, "Ben's phone")).toMatchObject({ code: null, session: { deviceName: "Ben's phone" } });
  const { snapshots } = await other.page.evaluate(() => window.core.snapshots());
  expect(snapshots.map(({ device }) => device).sort()).toEqual(["Anna's laptop", "Ben's phone"]);
  expect(new Set(snapshots.map(({ series }) => series)).size).toBe(2);
  await other.context.close();

  machine.copal(["forget", "--keep-last", "1"]);
  const left = await tab.page.evaluate(() => window.core.snapshots());
  expect(left.snapshots.map(({ device }) => device).sort()).toEqual(["Anna's laptop", "Ben's phone"]);
});

test("the owner gets in again where this browser was revoked: it forgets that it was a device", async () => {
  const folder = machine.path("Pictures");
  generate(folder, { files: 10, large: 1 << 20 });
  await unlock(tab);
  const before = (await firstBackup(tab, folder, "Anna's laptop")).session!.client!;
  machine.copal(["client", "revoke", before]);
  await tab.page.reload();
  await tab.page.waitForSelector("body[data-ready=yes]", { state: "attached" });
  await expect(unlock(tab)).rejects.toThrow(/revoked/);
  await tab.page.evaluate(() => window.core.forgetDevice());
  expect(await tab.page.evaluate(async () => (await window.core.environment()).device.role)).toBe("none");
  await unlock(tab);
  const after = await firstBackup(tab, folder, "Anna's new laptop");
  expect(after).toMatchObject({ code: null, session: { deviceName: "Anna's new laptop" } });
  expect(after.session!.client).not.toBe(before);
});
