//! Administration: devices are listed, renamed and revoked in the page; the command shows the same, and the reverse.

import { readdirSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { type Tab, backUp, generate, listing, open, unlock } from "./kit";
import { browser, machine, setting, tab } from "./setting";

setting();

interface Row {
  id: string;
  name: string;
  revoked: number | null;
  last_manifest: number | null;
}

const rows = () => JSON.parse(machine.copal(["client", "list", "--json"])) as Row[];
const devices = () => tab.page.evaluate(() => window.core.devices());
const records = () => readdirSync(join(machine.repository, "clients"), { recursive: true }).map(String).sort();

/** Two browsers that have saved something: that of the test's tab, and another. */
async function two(): Promise<{ other: Tab; own: string; others: string }> {
  const folder = machine.path("Pictures");
  generate(folder, { files: 10, large: 1 << 20 });
  await unlock(tab);
  await backUp(tab, folder, "photos", [], "Anna's laptop");
  const other = await open(browser, machine.url);
  await unlock(other);
  await backUp(other, folder, "photos", [], "Ben's phone");
  const id = async ({ page }: Tab) => (await page.evaluate(() => window.core.session()))!.client!;
  return { other, own: await id(tab), others: await id(other) };
}

test("a device is renamed in the page, and goes on saving under its new name", async () => {
  const { other, own, others } = await two();
  expect((await devices()).map(({ client, name, role, state, snapshots, isThis, isWhole }) => ({ client, name, role, state, snapshots, isThis, isWhole }))).toEqual(
    expect.arrayContaining([
      { client: own, name: "Anna's laptop", role: "full", state: "joined", snapshots: 1, isThis: true, isWhole: true },
      { client: others, name: "Ben's phone", role: "full", state: "joined", snapshots: 1, isThis: false, isWhole: true },
    ]),
  );
  await tab.page.evaluate((client) => window.core.renameDevice(client, "Ben's tablet"), others);
  expect(rows().find(({ id }) => id === others)).toMatchObject({ name: "Ben's tablet", revoked: null });
  await backUp(other, machine.path("Pictures"));
  const found = (await devices()).find(({ client }) => client === others);
  expect(found).toMatchObject({ name: "Ben's tablet", state: "joined", snapshots: 2 });
  await other.context.close();
});

test("what a revoked device saved before stays, and it saves no more; the command shows the same last manifest", async () => {
  const { other, others } = await two();
  const good = await tab.page.evaluate((client) => window.core.lastGood(client), others);
  expect(good!.number).toBe(rows().find(({ id }) => id === others)!.last_manifest);
  await tab.page.evaluate(({ client, good }) => window.core.revokeDevice(client, good), { client: others, good });
  expect(rows().find(({ id }) => id === others)).toMatchObject({ revoked: good!.number });
  expect((await devices()).find(({ client }) => client === others)).toMatchObject({ state: "revoked", snapshots: 1 });
  await expect(backUp(other, machine.path("Pictures"))).rejects.toThrow(/revoked|not-permitted/);
  await other.context.close();
  const kept = JSON.parse(machine.copal(["snapshots", "--json"])) as { id: string }[];
  expect(kept.length).toBe(2);
  for (const { id } of kept) {
    machine.copal(["restore", id, "--target", id]);
    expect(listing(machine.path(`${id}/Pictures`))).toEqual(listing(machine.path("Pictures")));
  }
  machine.copal(["check"]);
});

test("a manifest that is not the one that was named is not signed as the last good one", async () => {
  const { other, others } = await two();
  await other.context.close();
  const good = await tab.page.evaluate((client) => window.core.lastGood(client), others);
  const before = records();
  const revoke = (named: typeof good) =>
    tab.page.evaluate(({ client, named }) => window.core.revokeDevice(client, named).catch((error: { problem: { code: string } }) => Promise.reject(new Error(error.problem.code))), { client: others, named });
  await expect(revoke({ ...good!, hash: "00".repeat(32) })).rejects.toThrow("damaged");
  await expect(revoke({ ...good!, number: good!.number + 1 })).rejects.toThrow("damaged");
  // The server hands out what somebody else has signed.
  const theirs = `**/v1/objects/manifests/${others}/**`;
  await tab.page.route(theirs, async (route) => {
    const response = await route.fetch();
    const body = Buffer.from(await response.body());
    body[body.length - 1]! ^= 1;
    await route.fulfill({ response, body });
  });
  await expect(revoke(good)).rejects.toThrow("damaged");
  await tab.page.unroute(theirs);
  expect(records()).toEqual(before);
});
