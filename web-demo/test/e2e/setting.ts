//! What every test of a file starts from: a browser, and a machine with a new repository that is served to a tab.

import { rmSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";

import { Machine, type Tab, harness, launch, open } from "./kit";

export let browser: Browser;
export let web: string;
export let machine: Machine;
export let tab: Tab;

/** Sets all of it up before each test, and afterwards expects that the tab has asked for nothing that is not `excused`. */
export function setting(excused = (_stray: string): boolean => false): void {
  beforeAll(async () => {
    [web, browser] = [await harness(), await launch()];
  });
  afterAll(async () => {
    await browser?.close();
    if (web) rmSync(web, { recursive: true });
  });
  beforeEach(async () => {
    machine = new Machine();
    machine.init();
    await machine.serve(web);
    tab = await open(browser, machine.url);
  });
  afterEach(async () => {
    const { strays } = tab;
    await tab.context.close();
    await machine.end();
    expect(strays.filter((stray) => !excused(stray))).toEqual([]);
  });
}
