//! Changes: what a person does to snapshots in the page counts for the command, and the reverse.

import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import type { Changed, Wish } from "../../src/core/api";
import { backUp, generate, listing, unlock } from "./kit";
import { machine, setting, tab, web } from "./setting";

setting();

interface Told {
  id: string;
  tags: string[];
  pinned: boolean;
}

const told = () => JSON.parse(machine.copal(["snapshots", "--json"])) as Told[];
/** Through the gateway, which takes changes in at once. */
const copal = (args: string[]) => machine.copal(args, { COPAL_REPOSITORY: machine.url });
const change = (wish: Wish): Promise<Changed> =>
  tab.page.evaluate((wish) => window.core.changeSnapshots(wish, null).catch((error: { problem: { code: string } }) => Promise.reject(new Error(error.problem.code))), wish);
const ids = async (which: "snapshots" | "forgotten") => (await tab.page.evaluate((which) => window.core[which](), which)).snapshots.map(({ id }) => id);

/** Two snapshots of the page's, the newest first. */
async function two(): Promise<[string, string]> {
  const folder = machine.path("Pictures");
  generate(folder, { files: 20, large: 3 << 20 });
  await unlock(tab);
  await backUp(tab, folder, "first", [], "Anna's laptop");
  const [first] = await ids("snapshots");
  const other = machine.path("Music");
  generate(other, { files: 30, large: 2 << 20, seed: 7 });
  await backUp(tab, other, "second");
  const [second] = await ids("snapshots");
  return [second!, first!];
}

test("what the page has forgotten can be brought back until prune frees it, and what is left restores whole", async () => {
  const [second, first] = await two();
  expect(await change({ do: "forget", snapshots: [second] })).toEqual({ state: "done", unchanged: [] });
  expect(await ids("snapshots")).toEqual([first]);
  expect(await ids("forgotten")).toEqual([second]);
  expect(told().map(({ id }) => id)).toEqual([first]);
  // Nothing is freed within the grace period.
  machine.copal(["prune"]);
  expect(await change({ do: "undelete", snapshots: [second] })).toEqual({ state: "done", unchanged: [] });
  expect(told().map(({ id }) => id).sort()).toEqual([first, second].sort());
  machine.copal(["restore", second, "--target", "again"]);
  expect(listing(machine.path("again/Music"))).toEqual(listing(machine.path("Music")));

  await change({ do: "forget", snapshots: [second] });
  const before = packs();
  machine.copal(["prune", "--grace", "0s"]);
  machine.copal(["prune", "--grace", "0s"]);
  expect(packs()).toBeLessThan(before);
  expect(await ids("forgotten")).toEqual([]);
  machine.copal(["check", "--read-data"]);
  machine.copal(["restore", first, "--target", "out"]);
  expect(listing(machine.path("out/Pictures"))).toEqual(listing(machine.path("Pictures")));
  await expect(change({ do: "undelete", snapshots: [second] })).rejects.toThrow();
});

test("pins and tags of the page are the command's, and the reverse; a pinned snapshot is not forgotten", async () => {
  const [second, first] = await two();
  await change({ do: "pin", snapshots: [second, first] });
  await change({ do: "tag", snapshots: [second], add: ["before-move", "é"], remove: [] });
  expect(told().map(({ id, pinned, tags }) => ({ id, pinned, tags: [...tags].sort() })).sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
    [{ id: second, pinned: true, tags: ["before-move", "é"] }, { id: first, pinned: true, tags: [] }].sort((a, b) => (a.id < b.id ? -1 : 1)),
  );
  copal(["unpin", second]);
  copal(["tag", "--add", "taxes", "--remove", "é", second, first]);
  const { snapshots } = await tab.page.evaluate(() => window.core.snapshots());
  expect(snapshots.map(({ id, pinned, tags }) => ({ id, pinned, tags }))).toEqual([
    { id: second, pinned: false, tags: ["before-move", "taxes"] },
    { id: first, pinned: true, tags: ["taxes"] },
  ]);
  expect(await change({ do: "forget", snapshots: [second, first] })).toEqual({ state: "done", unchanged: [first] });
  expect(told().map(({ id }) => id)).toEqual([first]);
});

test("what the policy's floor keeps of what is forgotten is told before it is signed", async () => {
  const [second, first] = await two();
  expect(await tab.page.evaluate((id) => window.core.guard([id]), second)).toEqual({ grace: null, stays: [] });
  writeFileSync(machine.path("policy.toml"), 'keep-last = 1\nfloor-last = 1\ngrace = "3d"\n');
  copal(["policy", "set", "policy.toml"]);
  const guard = await tab.page.evaluate((ids) => window.core.guard(ids), [second, first]);
  expect(guard.grace).toBe(3 * 86_400);
  expect(guard.stays.map(({ id, by }) => ({ id, by })).sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([second, first].sort().map((id) => ({ id, by: "last" })));
});

test("behind a change that another writer is faster with the page signs anew, and both count", async () => {
  const [second, first] = await two();
  let overtaken = 0;
  await tab.page.route("**/v1/objects/changes/**", async (route) => {
    if (route.request().method() === "PUT" && overtaken++ === 0) copal(["pin", first]);
    await route.continue();
  });
  expect(await change({ do: "tag", snapshots: [second], add: ["page"], remove: [] })).toEqual({ state: "done", unchanged: [] });
  expect(overtaken).toBe(2);
  expect(told().map(({ id, pinned, tags }) => `${id} ${pinned} ${tags.join()}`).sort()).toEqual([`${second} false page`, `${first} true `].sort());
});

test("on a chain of changes that lacks one that this browser has seen nothing is signed", async () => {
  const [second, first] = await two();
  await change({ do: "pin", snapshots: [first] });
  const copy = machine.path("copy");
  await machine.kill();
  cpSync(machine.repository, copy, { recursive: true });
  await machine.serve(web);
  await change({ do: "tag", snapshots: [second], add: ["newer"], remove: [] });
  await machine.kill();
  // The server goes back to what it was before.
  rmSync(machine.repository, { recursive: true });
  cpSync(copy, machine.repository, { recursive: true });
  await machine.serve(web);
  const there = readdirSync(join(machine.repository, "changes"), { recursive: true }).length;
  await expect(change({ do: "forget", snapshots: [second] })).rejects.toThrow("state-older");
  expect(readdirSync(join(machine.repository, "changes"), { recursive: true }).length).toBe(there);
  expect(told().length).toBe(2);
});

function packs(): number {
  return readdirSync(join(machine.repository, "packs"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
}
