//! Owner: what needs the owner's passphrase again, by the core's calls. What can do it is loaded when it is asked for.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import type { Act, Confirmation } from "../../src/core/api";
import { PASSPHRASE, open, unlock } from "./kit";
import { browser, machine, setting, tab } from "./setting";

setting();

/** Has something done in the tab; a failure is told by its code. */
function administer<Answer>(act: Act, ...args: unknown[]): Promise<Answer> {
  return tab.page.evaluate(
    ({ act, args }) => {
      const call = window.core.administer as (act: string, ...args: unknown[]) => Promise<unknown>;
      return call(act, ...args).catch((error: { problem: { code: string } }) => Promise.reject(new Error(error.problem.code)));
    },
    { act, args },
  ) as Promise<Answer>;
}
const confirm = (secret: Confirmation = { by: "passphrase", passphrase: PASSPHRASE }) => administer<{ slot: string }>("confirm", secret);

interface Row { slot: string; kind: string }
const rows = (password: string) => JSON.parse(machine.copal(["key", "list", "--json"], { COPAL_PASSWORD: password })) as Row[];
/** The copies of all key slots, as they are stored. */
const stored = () => readdirSync(join(machine.repository, "keys"), { recursive: true, encoding: "utf8" }).filter((name) => /\/[ab]$/.test(name)).sort();

test("the module for administration is fetched once, when it is asked for, and not before; a secret that opens nothing is told", async () => {
  const asked: string[] = [];
  let isAway = true;
  await tab.context.route(/administration_bg|desk/, (route) => {
    asked.push(new URL(route.request().url()).pathname);
    return isAway && route.request().url().includes("_bg") ? route.abort() : route.continue();
  });
  await unlock(tab);
  await tab.page.evaluate(() => window.core.devices());
  expect(asked).toEqual([]);
  await expect(confirm()).rejects.toThrow("server-gone");
  isAway = false;
  await expect(confirm({ by: "passphrase", passphrase: "no" })).rejects.toThrow("passphrase-wrong");
  await expect(confirm({ by: "passphrase", passphrase: "" })).rejects.toThrow("passphrase-empty");
  await expect(confirm({ by: "recovery-code", code: "ABC" })).rejects.toThrow("code-malformed");
  const { slot } = await confirm();
  expect(rows(PASSPHRASE).map((row) => row.slot)).toContain(slot);
  expect(asked.filter((path) => path.includes("_bg")).length).toBe(2);
  // Once the dialog has ended, nothing is signed, though the page is open all the time.
  await administer("end");
  const before = stored();
  for (const [act, ...args] of [["addKey", { by: "passphrase", passphrase: "x" }, null], ["removeKey", slot], ["draftRecoveryCode"], ["invite", { name: "phone", role: "full", days: 7 }]] as [Act, ...unknown[]][]) {
    await expect(administer(act, ...args)).rejects.toThrow("not-confirmed");
  }
  expect(stored()).toEqual(before);
});

test("keys are added, replaced and removed as the command does it, each opens the repository, and the last one stays", async () => {
  await unlock(tab);
  const { slot: first } = await confirm();
  // Beside the passphrase there is the recovery code of `copal init`; without it the passphrase is the only key.
  const made = rows(PASSPHRASE).find(({ kind }) => kind === "recovery_code")!;
  await administer("removeKey", made.slot);
  await expect(administer("removeKey", first)).rejects.toThrow("last-key");
  await expect(administer("addKey", { by: "passphrase", passphrase: "" }, null)).rejects.toThrow("passphrase-empty");

  const { slot: second } = await administer<{ slot: string }>("addKey", { by: "passphrase", passphrase: "grün im Winter" }, null);
  expect(stored()).toEqual([first, second].flatMap((slot) => [`${slot}/a`, `${slot}/b`]).sort());
  expect(rows("gru\u0308n im Winter").map(({ slot }) => slot).sort()).toEqual([first, second].sort());
  await expect(administer("removeKey", first)).rejects.toThrow("key-in-use");

  const code = await administer<string>("draftRecoveryCode");
  expect(stored().length).toBe(4);
  const { slot: paper } = await administer<{ slot: string }>("addKey", { by: "recovery-code", code }, null);
  expect(rows(code).find(({ slot }) => slot === paper)!.kind).toBe("recovery_code");

  // A new passphrase takes the place of the one that has opened the page: the page goes on, and the old one opens nothing.
  const { slot: third } = await administer<{ slot: string }>("addKey", { by: "passphrase", passphrase: "another winter" }, first);
  expect(stored().some((name) => name.startsWith(first))).toBe(false);
  expect(() => rows(PASSPHRASE)).toThrow();
  expect(await administer("keys")).toMatchObject(expect.arrayContaining([expect.objectContaining({ slot: third, kind: "passphrase", faults: [], isCurrent: true })]));
  expect((await tab.page.evaluate(() => window.core.devices())).length).toBe(1);

  // Who has only the paper left gets in with it, and makes a new passphrase.
  await confirm({ by: "recovery-code", code: code.toLowerCase().replaceAll("-", " ") });
  await administer("removeKey", third);
  await administer("removeKey", second);
  await expect(administer("removeKey", paper)).rejects.toThrow("last-key");
  await administer("addKey", { by: "passphrase", passphrase: "found again" }, null);
  const other = await open(browser, machine.url);
  await unlock(other, "found again");
  await other.context.close();
});

test("a key that is not stored whole takes no other one's place", async () => {
  await unlock(tab);
  const { slot } = await confirm();
  const add = () => administer("addKey", { by: "passphrase", passphrase: "another winter" }, slot);
  // The server hands out another byte than it was given, of the second copy alone; then no second copy at all.
  const second = new RegExp(`/v1/objects/keys/(?!${slot})[0-9a-f]{32}/b$`);
  for (const lie of [(body: Buffer) => { body[40]! ^= 1; return body; }, () => null]) {
    await tab.context.route(second, async (route) => {
      if (route.request().method() !== "GET") return route.continue();
      const response = await route.fetch();
      const body = lie(Buffer.from(await response.body()));
      return body ? route.fulfill({ response, body }) : route.fulfill({ status: 404, contentType: "application/problem+json", body: JSON.stringify({ type: "urn:copal:problem:not-found" }) });
    });
    await expect(add()).rejects.toThrow("key-unproven");
    await tab.context.unroute(second);
    expect(stored()).toEqual(expect.arrayContaining([`${slot}/a`, `${slot}/b`]));
  }
  await add();
  expect(stored()).not.toContain(`${slot}/a`);
});

test("a device is let in once, by name and for a time, as the command lists it", async () => {
  await unlock(tab);
  await confirm();
  const invite = (name: string, role: string, days: number) => administer<{ client: string; link: string; line: string; expires: number; picture: { width: number } }>("invite", { name, role, days });
  for (const days of [0, 91, Number.NaN]) await expect(invite("phone", "full", days)).rejects.toThrow("invitation-malformed");
  await expect(invite("", "full", 7)).rejects.toThrow("invitation-malformed");
  const { client, link, line, expires, picture } = await invite("phone", "write-only", 7);
  expect(link).toBe(`${machine.url}/#join=${line}`);
  expect(picture.width).toBeGreaterThan(50);
  expect(Math.abs(expires - Date.now() - 7 * 86_400_000)).toBeLessThan(60_000);
  await expect(invite("phone", "full", 7)).rejects.toThrow("invitation-name-taken");
  const listed = JSON.parse(machine.copal(["client", "list", "--json"])) as { id: string; name: string; role: string; joined: boolean }[];
  expect(listed).toEqual(expect.arrayContaining([expect.objectContaining({ id: client, name: "phone", role: "write-only", joined: false })]));
  expect(readdirSync(join(machine.repository, "clients", client)).length).toBe(2);
  // Whom the owner has withdrawn frees the name.
  machine.copal(["client", "revoke", "phone"]);
  const again = await invite("phone", "full", 90);
  expect(again.client).not.toBe(client);
});

test("of two keys that remove each other at the same moment one stays", async () => {
  await unlock(tab);
  const { slot: first } = await confirm();
  const { slot: second } = await administer<{ slot: string }>("addKey", { by: "passphrase", passphrase: "second winter" }, null);
  for (const { slot } of rows(PASSPHRASE)) if (slot !== first && slot !== second) await administer("removeKey", slot);
  const other = await open(browser, machine.url);
  try {
    await unlock(other, "second winter");
    const there = (act: string, ...args: unknown[]) => other.page.evaluate(({ act, args }) => (window.core.administer as (act: string, ...args: unknown[]) => Promise<unknown>)(act, ...args), { act, args });
    await there("confirm", { by: "passphrase", passphrase: "second winter" });
    // Both have looked, and neither has deleted, before either goes on.
    let waiting = 0;
    let go = (): void => undefined;
    const both = new Promise<void>((resolve) => { go = resolve; });
    for (const { context } of [tab, other]) {
      await context.route(/\/v1\/objects\/keys\//, async (route) => {
        if (route.request().method() === "DELETE" && waiting < 2) {
          if ((waiting += 1) === 2) go();
          await both;
        }
        await route.continue();
      });
    }
    await Promise.allSettled([administer("removeKey", second), there("removeKey", first)]);
  } finally {
    expect(other.strays).toEqual([]);
    await other.context.close();
  }
  const opens = [PASSPHRASE, "second winter"].filter((password) => {
    try {
      return rows(password).length > 0;
    } catch {
      return false;
    }
  });
  expect(opens.length).toBeGreaterThan(0);
});
