/** Every state of the page, in a real browser under the strict policy: it shows what it should, complains of nothing, and axe finds nothing serious. With COPAL_SHOTS=DIRECTORY, a picture of each, in two looks more; COPAL_SCENE=NAME takes those that begin so. */

import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { SCENES } from "../app/scenes";
import { DESKTOP, enter, PHONE, stageSet, type StageSet } from "../app/stage-set";

const LOOKS = [
  { name: "light-desktop", options: { colorScheme: "light", viewport: DESKTOP } },
  { name: "dark-phone", options: { colorScheme: "dark", viewport: PHONE, hasTouch: true } },
] as const;
const MORE_LOOKS = [
  { name: "dark-desktop", options: { colorScheme: "dark", viewport: DESKTOP } },
  { name: "light-phone", options: { colorScheme: "light", viewport: PHONE, hasTouch: true } },
] as const;

vi.setConfig({ testTimeout: 300_000 });
let set: StageSet;
let axe: string;
const shots = process.env["COPAL_SHOTS"];
const only = process.env["COPAL_SCENE"];

beforeAll(async () => {
  axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  if (shots) await mkdir(shots, { recursive: true });
  set = await stageSet();
}, 300_000);
afterAll(async () => set?.close());

describe.each(SCENES.filter((scene) => !only || scene.name.startsWith(only)))("$name", (scene) => {
  test.each(shots ? [...LOOKS, ...MORE_LOOKS] : [...LOOKS])("is whole, usable by everybody, and within the policy: $name", async ({ name, options }) => {
    const { page, complaints } = await enter(set, scene, options);
    // Animations end, or are given up, before colours are judged.
    await page.evaluate(() => Promise.allSettled(document.getAnimations().filter((one) => one.effect?.getComputedTiming().iterations !== Infinity).map((one) => one.finished)));
    if (shots) await page.screenshot({ path: join(shots, `${scene.name}.${name}.png`) });
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    const complained = complaints.slice();
    // Evaluated by the debugger, which no policy binds.
    await page.evaluate(axe);
    const found = await page.evaluate(async () => {
      const engine = (globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> } }).axe;
      const { violations } = await engine.run({ resultTypes: ["violations"] });
      return violations.map((one) => `${one.impact} ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
    });
    await page.context().close();
    expect(complained).toEqual([]);
    expect(found).toEqual([]);
    expect(wider, "wider than the window").toBe(0);
  });
});
