// @vitest-environment jsdom

import { beforeEach, expect, test, vi } from "vitest";

import type { OpenShare } from "../../src/core/share/read";
import type { Place } from "../../src/core/restore/place";

const said = vi.hoisted(() => ({ places: [] as (() => Promise<unknown>)[], saving: [] as { name: string; signal: AbortSignal; end: () => void }[] }));

vi.mock("../../src/share/save", async (original) => ({
  ...(await original<typeof import("../../src/share/save")>()),
  choosePlace: () => said.places.shift()!(),
  save: (_share: unknown, { path }: { path: string }, _place: Place, signal: AbortSignal) =>
    new Promise<string[]>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      said.saving.push({ name: path, signal, end: () => resolve([]) });
    }),
}));

const { Files } = await import("../../src/share/files");

const picked = async () => ({});
const settled = () => new Promise((done) => setTimeout(done));
beforeEach(() => Object.assign(said, { places: [], saving: [] }));

/** The page of two files, of which the first one is being saved. */
async function saving() {
  const entries = ["a", "b"].map((path) => ({ path, size: 9, time: null, offset: 0 }));
  const share = { list: { name: "n", length: 18, entries }, ticket: { ends: 0, left: 1 } } as unknown as OpenShare;
  const { parts } = new Files(share, new AbortController().signal);
  const buttons = parts.flatMap((part) => [...part.querySelectorAll("li button")]) as HTMLButtonElement[];
  const save = async (at: number, choose: () => Promise<unknown>) => {
    said.places.push(choose);
    buttons[at]!.click();
    await settled();
  };
  await save(0, picked);
  return { save, shows: () => parts.map(({ textContent }) => textContent).join(" "), first: said.saving[0]! };
}

test("whoever changes their mind about another file keeps the one that is being saved", async () => {
  const { save, shows, first } = await saving();
  await save(1, async () => null);
  expect(first.signal.aborted).toBe(false);
  expect(said.saving.map(({ name }) => name)).toEqual(["a"]);
  first.end();
  await settled();
  expect(shows()).toMatch(/a is saved/i);
});

test("a file that is saved next takes the place of the one before, also where it cannot be saved there", async () => {
  const { save, first } = await saving();
  await save(1, picked);
  expect(first.signal.aborted).toBe(true);
  expect(said.saving.map(({ name }) => name)).toEqual(["a", "b"]);
  const other = await saving();
  await other.save(1, () => Promise.reject(new DOMException("no", "NotAllowedError")));
  expect(said.saving.at(-1)!.signal.aborted).toBe(true);
  expect(other.shows()).toMatch(/could not be saved/);
});
