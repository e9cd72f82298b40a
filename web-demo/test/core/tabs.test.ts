import { expect, test } from "vitest";

import { Tabs } from "../../src/core/tabs";

/** Locks of one browser. */
function browser() {
  const held = new Map<string, (() => void)[]>();
  const take = async (name: string, work: (lock: Lock | null) => unknown) => {
    held.set(name, []);
    await work({ name, mode: "exclusive" });
    const next = held.get(name)!.shift();
    if (next) next();
    else held.delete(name);
  };
  const request = async (name: string, options: LockOptions, work: (lock: Lock | null) => unknown) => {
    await Promise.resolve();
    if (!held.has(name)) return take(name, work);
    if (options.ifAvailable) return work(null);
    const others = held.get(name)!;
    await new Promise<void>((resolve, reject) => {
      others.push(resolve);
      options.signal?.addEventListener("abort", () => {
        others.splice(others.indexOf(resolve), 1);
        reject(new DOMException("", "AbortError"));
      });
    });
    const rest = held.get(name)!;
    held.delete(name);
    const taking = take(name, work);
    held.get(name)!.push(...rest);
    return taking;
  };
  return { request: request as LockManager["request"] };
}

const settle = () => new Promise((resolve) => setTimeout(resolve));

function tab(locks: ReturnType<typeof browser> | undefined) {
  const state = { isElsewhere: false };
  return { state, tabs: new Tabs(locks, (held) => (state.isElsewhere = held)) };
}

test("the second tab is told that another has the repository open, until that one is closed", async () => {
  const locks = browser();
  const [first, second, third] = [tab(locks), tab(locks), tab(locks)];
  for (const { tabs } of [first, second, third]) {
    tabs.join("r");
    await settle();
  }
  const elsewhere = () => [first, second, third].map(({ state }) => state.isElsewhere);
  expect(elsewhere()).toEqual([false, true, true]);
  first.tabs.leave();
  await settle();
  expect(elsewhere()).toEqual([false, false, true]);
  second.tabs.leave();
  await settle();
  expect(elsewhere()).toEqual([false, false, false]);
});

test("a tab that was locked waits no more, and keeps nobody waiting", async () => {
  const locks = browser();
  const [first, second, third] = [tab(locks), tab(locks), tab(locks)];
  for (const { tabs } of [first, second]) {
    tabs.join("r");
    await settle();
  }
  second.tabs.leave();
  first.tabs.leave();
  await settle();
  third.tabs.join("r");
  await settle();
  expect([first, second, third].map(({ state }) => state.isElsewhere)).toEqual([false, false, false]);
});

test("tabs of two repositories do not know of each other, and a browser without locks tells nothing", async () => {
  const locks = browser();
  const [one, other, without] = [tab(locks), tab(locks), tab(undefined)];
  one.tabs.join("r");
  other.tabs.join("s");
  without.tabs.join("r");
  await settle();
  expect([one, other, without].map(({ state }) => state.isElsewhere)).toEqual([false, false, false]);
});
