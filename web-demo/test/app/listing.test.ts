import { describe, expect, test } from "vitest";
import { Finding } from "../../src/app/finding";
import { Listing, sorted } from "../../src/app/listing";
import { Comparing } from "../../src/app/comparing";
import type { Change, DirectoryPage, Entry } from "../../src/core/api";
import { failure } from "../../src/core/problem";
import { entries, manyEntries, never, scripted, scriptedRun } from "./harness/scripted";

const names = (rows: readonly Entry[]) => rows.map((entry) => entry.name);

describe("a listing", () => {
  test("gathers all pages", async () => {
    const listing = new Listing(scripted({ directory: async (_s, _d, after, limit) => page(manyEntries(5_001), after, limit) }));
    await listing.open("s", "");
    expect(listing.rows.value.length).toBe(5_001);
    expect(listing.listed.value).toMatchObject({ loading: false, total: 5_001 });
  });
  test("drops what comes late from a folder that was left", async () => {
    let answer: (page: DirectoryPage) => void = () => undefined;
    const listing = new Listing(scripted({ directory: (_s, directory) => (directory === "slow" ? new Promise((done) => { answer = done; }) : Promise.resolve(page(entries(), null, 100))) }));
    const slow = listing.open("s", "slow");
    await listing.open("s", "quick");
    answer(page(manyEntries(3), null, 100));
    await slow;
    expect(names(listing.rows.value)).toContain("README.txt");
    expect(names(listing.rows.value)).not.toContain("DSC_00000.NEF");
  });
  test("shows what came before something failed, and what failed", async () => {
    const listing = new Listing(scripted({ directory: async (_s, _d, after, limit) => { if (after) throw failure("damaged"); return page(manyEntries(5_000), after, limit); } }));
    await listing.open("s", "");
    expect(listing.listed.value).toMatchObject({ loading: false, problem: { code: "damaged" } });
    expect(listing.rows.value.length).toBe(2_000);
  });
  test("says that a part of the folder cannot be read, and shows the rest", async () => {
    const { problem } = failure("damaged");
    const damaged = async (_s: string, _d: string, after: string | null, limit: number) => ({ ...page(manyEntries(5_000), after, limit), damage: after === "2000" ? [problem] : [] });
    const listing = new Listing(scripted({ directory: damaged }));
    await listing.open("s", "");
    expect(listing.listed.value).toMatchObject({ loading: false, problem: { code: "damaged" } });
    expect(listing.rows.value.length).toBe(5_000);
  });
  test("selects one, all, and nothing", async () => {
    const listing = new Listing(scripted());
    await listing.open("s", "");
    listing.toggle("f-README.txt");
    expect(listing.selected.value.size).toBe(1);
    listing.toggleAll();
    expect(listing.selected.value.size).toBe(entries().length);
    listing.toggleAll();
    expect(listing.selected.value.size).toBe(0);
  });
  test("forgets the selection in another folder", async () => {
    const listing = new Listing(scripted());
    await listing.open("s", "");
    listing.toggleAll();
    await listing.open("s", "d-2026");
    expect(listing.selected.value.size).toBe(0);
  });
});

describe("the order", () => {
  test("puts folders first, whichever way it goes", () => {
    for (const down of [false, true]) {
      const kinds = sorted(entries(), { by: "size", down }).map((entry) => entry.kind === "directory");
      expect(kinds.indexOf(false), `down ${down}`).toBe(kinds.filter(Boolean).length);
    }
  });
  test("of names counts numbers as numbers", () => {
    const rows = names(sorted(entries(), { by: "name", down: false }));
    expect(rows.indexOf("album 2.pdf")).toBeLessThan(rows.indexOf("album 10.pdf"));
  });
  test("begins with what is large and what is new", () => {
    const listing = new Listing(scripted());
    listing.sortBy("size");
    expect(listing.order.value).toEqual({ by: "size", down: true });
    listing.sortBy("size");
    expect(listing.order.value).toEqual({ by: "size", down: false });
    listing.sortBy("name");
    expect(listing.order.value).toEqual({ by: "name", down: false });
  });
});

describe("a search", () => {
  test("shows the newest text's hits only", async () => {
    const finding = new Finding(scripted({ search: async (_s, _d, text) => scriptedRun({ state: "", hits: [], looked: 0 }, { hits: entries().filter((entry) => entry.name.includes(text)), looked: 9, more: false, damage: [] }) }));
    const first = finding.find("s", "", "album");
    await finding.find("s", "", "README");
    await first;
    expect(finding.found.value?.hits.map((hit) => hit.name)).toEqual(["README.txt"]);
  });
  test("says what it could not look through", async () => {
    const { problem } = failure("damaged");
    const finding = new Finding(scripted({ search: async () => scriptedRun({ state: "", hits: [], looked: 0 }, { hits: entries(), looked: 9, more: false, damage: [problem] }) }));
    await finding.find("s", "", "album");
    expect(finding.found.value).toMatchObject({ running: false, problem: { code: "damaged" } });
    expect(finding.found.value?.hits.length).toBe(entries().length);
  });
  test("for nothing ends the search", async () => {
    const finding = new Finding(scripted({ search: () => never() }));
    void finding.find("s", "", "a");
    await finding.find("s", "", "  ");
    expect(finding.found.value).toBeNull();
  });
});

test("a comparison counts what it shows", async () => {
  const comparing = new Comparing(scripted());
  await comparing.open("a", "b");
  expect(comparing.counts.value).toEqual({ added: 15, changed: 30, removed: 15, metadata: 0 });
  comparing.shown.value = "removed";
  expect(comparing.rows.value.length).toBe(15);
});

test("a comparison shows files that differ in details only at once, and folders on demand", async () => {
  const [folder, file] = [entries().find((one) => one.kind === "directory")!, entries().find((one) => one.kind === "file")!];
  const changes = [
    ...Array.from({ length: 500 }, (_, i): Change => ({ path: `d${i}`, kind: "metadata", before: folder, after: { ...folder, modified: 0 } })),
    { path: "f", kind: "metadata", before: file, after: { ...file, modified: 0 } } as const,
    { path: "new", kind: "added", before: null, after: folder } as const,
  ];
  const comparing = new Comparing(scripted({ compare: async () => ({ changes, next: null }) }));
  await comparing.open("a", "b");
  expect(comparing.rows.value.map(({ path }) => path)).toEqual(["f", "new"]);
  expect(comparing.counts.value).toEqual({ added: 1, changed: 0, removed: 0, metadata: 1 });
  comparing.shown.value = "folders";
  expect(comparing.rows.value.length).toBe(500);
});

function page(all: Entry[], after: string | null, limit: number): DirectoryPage {
  const start = after === null ? 0 : Number(after);
  return { entries: all.slice(start, start + limit), next: start + limit < all.length ? String(start + limit) : null, total: all.length, damage: [] };
}
