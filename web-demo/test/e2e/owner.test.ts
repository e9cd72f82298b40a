//! Owner: what needs the owner's passphrase again. What can do it is loaded when it is asked for, and forgets the secret in the end.

import { expect, test } from "vitest";

import type { Confirmation } from "../../src/core/api";
import { PASSPHRASE, unlock } from "./kit";
import { machine, setting, tab } from "./setting";

setting();

const confirm = (secret: Confirmation) =>
  tab.page.evaluate((secret) => window.core.administer("confirm", secret).catch((error: { problem: { code: string } }) => Promise.reject(new Error(error.problem.code))), secret);

test("the module for administration is fetched once, when the passphrase is asked for again, and not before", async () => {
  const asked: string[] = [];
  let isAway = true;
  await tab.context.route(/administration_bg|desk/, (route) => {
    asked.push(new URL(route.request().url()).pathname);
    return isAway && route.request().url().includes("_bg") ? route.abort() : route.continue();
  });
  await unlock(tab);
  await tab.page.evaluate(() => window.core.devices());
  expect(asked).toEqual([]);
  await expect(confirm({ by: "passphrase", passphrase: PASSPHRASE })).rejects.toThrow("server-gone");
  isAway = false;
  await expect(confirm({ by: "passphrase", passphrase: "no" })).rejects.toThrow("passphrase-wrong");
  await expect(confirm({ by: "passphrase", passphrase: "" })).rejects.toThrow("passphrase-empty");
  await expect(confirm({ by: "recovery-code", code: "ABC" })).rejects.toThrow("code-malformed");
  const { slot } = await confirm({ by: "passphrase", passphrase: PASSPHRASE });
  expect(machine.copal(["key", "list", "--json"])).toContain(slot);
  expect(asked.filter((path) => path.includes("_bg")).length).toBe(2);
});
