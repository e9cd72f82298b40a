/** Every state of the page, in a real browser under the strict policy: it shows what it should, complains of nothing, and axe finds nothing serious. With COPAL_SHOTS=DIRECTORY, a picture of each, in more looks; COPAL_SCENE=NAME takes those that begin so. */

import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { SCENES } from "../app/scenes";
import { DESKTOP, PHONE, Round, WIDE, stageSet, type StageSet } from "../app/stage-set";

const FIRST = { colorScheme: "dark", viewport: PHONE } as const;
const LOOKS = [
  { name: "dark-phone", ...FIRST },
  { name: "light-wide", colorScheme: "light", viewport: WIDE },
] as const;
const MORE_LOOKS = [
  { name: "dark-wide", colorScheme: "dark", viewport: WIDE },
  { name: "light-desktop", colorScheme: "light", viewport: DESKTOP },
  { name: "light-phone", colorScheme: "light", viewport: PHONE },
] as const;

/** Widths between those two, in which nothing may be wider than the window either: the narrowest with the menu at the side, and a laptop's. */
const BETWEEN = [{ width: 761, height: 1000 }, DESKTOP];

vi.setConfig({ testTimeout: 300_000 });
let set: StageSet;
let round: Round;
let axe: string;
const shots = process.env["COPAL_SHOTS"];
const only = process.env["COPAL_SCENE"];

beforeAll(async () => {
  axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  if (shots) await mkdir(shots, { recursive: true });
  set = await stageSet();
  round = new Round(set, { ...FIRST, hasTouch: true });
});
afterAll(async () => set?.close());

test.each(SCENES.filter((scene) => !only || scene.name.startsWith(only)))("$name is whole, usable by everybody, and within the policy", async (scene) => {
  // On a phone, where there is least room for what the scene's steps press.
  const { page, complaints } = await round.enter(scene);
  // Evaluated by the debugger, which no policy binds.
  await page.evaluate(axe);
  const debug = await page.context().newCDPSession(page);
  for (const { name, colorScheme, viewport } of shots ? [...LOOKS, ...MORE_LOOKS] : LOOKS) {
    await debug.send("Emulation.setTouchEmulationEnabled", { enabled: viewport === PHONE });
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    // Animations end before colours are judged. Nobody waits for them: some never say that they have ended.
    await page.evaluate(() => document.getAnimations().filter((one) => one.effect?.getComputedTiming().endTime !== Infinity).forEach((one) => one.finish()));
    if (shots) await page.screenshot({ path: join(shots, `${scene.name}.${name}.png`) });
    const found = await page.evaluate(async () => {
      const engine = (globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> } }).axe;
      const { violations } = await engine.run({ resultTypes: ["violations"] });
      return violations.map((one) => `${one.impact} ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
    });
    expect.soft(complaints, name).toEqual([]);
    expect.soft(found, name).toEqual([]);
    expect.soft(await wider(page), `${name}: wider than the window`).toBe(0);
  }
  for (const viewport of BETWEEN) {
    await page.setViewportSize(viewport);
    expect.soft(await wider(page), `${viewport.width}: wider than the window`).toBe(0);
  }
  // The next scene begins as this one did.
  await page.emulateMedia({ colorScheme: FIRST.colorScheme });
  await page.setViewportSize(FIRST.viewport);
  await debug.send("Emulation.setTouchEmulationEnabled", { enabled: true });
  await debug.detach();
});

/** By how many points the page is wider than the window. */
async function wider(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
