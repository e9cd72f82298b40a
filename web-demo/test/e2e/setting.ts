//! What every test of a file starts from: a browser, and a machine that serves a new repository to it. What is set up first ends last.

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from "vitest";

import { Machine, type Tab, launch, open } from "./kit";

export let browser: Browser;
export const web = inject("harness");
export let machine: Machine;
export let tab: Tab;

/** Before each test, a machine that serves a new repository and these files of a page. */
export function served(page: string): void {
  beforeEach(async () => {
    machine = new Machine();
    machine.init();
    await machine.serve(page);
  });
  afterEach(async () => {
    await machine.end();
  });
}

/** One browser for all tests of the file. */
export function browsed(): void {
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
  });
}

/** Both, and a tab before each test; afterwards it has asked for nothing that is not `excused`. */
export function setting(excused = (_stray: string): boolean => false): void {
  afterEach(() => expect(tab.strays.filter((stray) => !excused(stray))).toEqual([]));
  browsed();
  served(web);
  beforeEach(async () => {
    tab = await open(browser, machine.url);
  });
  afterEach(async () => {
    await tab.context.close();
  });
}
