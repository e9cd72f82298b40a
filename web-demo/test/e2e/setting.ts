//! What every test of a file starts from: a browser, and a machine with a new repository that is served to a tab.

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from "vitest";

import { Machine, type Tab, launch, open } from "./kit";

export let browser: Browser;
export const web = inject("harness");
export let machine: Machine;
export let tab: Tab;

/** Sets all of it up before each test, and afterwards expects that the tab has asked for nothing that is not `excused`. */
export function setting(excused = (_stray: string): boolean => false): void {
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
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
