/** Growth: what manifests claim, added up by device and series. */

import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { claimOf } from "../../src/core/claim";
import { type Step, grown } from "../../src/core/coordinator/growth";
import { snapshots } from "../app/harness/scripted";

const GOLDEN = resolve(import.meta.dirname, "../../../tests/golden/repository");
const DAY = 86_400_000;

test("a manifest tells its packs with their lengths, as they lie in the store", () => {
  const lengths = new Map<string, number>();
  for (const name of readdirSync(join(GOLDEN, "packs"), { recursive: true, encoding: "utf8" })) {
    const id = name.split("/")[1];
    if (id) lengths.set(id.slice(0, 32), readFileSync(join(GOLDEN, "packs", name)).length);
  }
  let seen = 0;
  for (const name of readdirSync(join(GOLDEN, "manifests"), { recursive: true, encoding: "utf8" }).filter((one) => one.includes("/"))) {
    const { packs, source } = claimOf(new Uint8Array(readFileSync(join(GOLDEN, "manifests", name))));
    for (const [id, bytes] of packs) {
      if (lengths.has(id)) expect(bytes).toBe(lengths.get(id));
      seen += 1;
    }
    if (source !== null) expect(source).toMatch(/^[0-9a-f]{32}$/);
  }
  expect(seen).toBeGreaterThan(3);
});

test("a manifest that is cut off is a mistake", () => {
  const [client] = readdirSync(join(GOLDEN, "manifests"));
  const [name] = readdirSync(join(GOLDEN, "manifests", client!));
  const bytes = new Uint8Array(readFileSync(join(GOLDEN, "manifests", client!, name!)));
  for (const length of [0, 14, 20, 60, 120]) expect(() => claimOf(bytes.subarray(0, length)), String(length)).toThrow(RangeError);
});

test("what is claimed adds up by day, and a pack counts once, for whoever stored it first", () => {
  const step = (client: string, time: number, packs: [string, number][], source: string | null): Step => ({ client, time, packs, source });
  // In the order of a listing: by client, then by number.
  const steps = [
    step("a", 1 * DAY, [["p1", 100]], null), step("a", 1 * DAY + 5, [["p2", 20]], "photos"), step("a", 3 * DAY, [["p3", 7], ["p1", 100]], "photos"), step("a", 4 * DAY, [["p4", 1]], "mail"),
    step("b", 2 * DAY, [["p1", 100], ["p5", 50]], "desk"),
  ];
  const names = snapshots().slice(0, 1).map((one) => ({ ...one, series: "a/photos", source: "Photos", device: "laptop" }));
  expect(grown(steps, names)).toEqual([
    { series: "a/photos", client: "a", source: "Photos", device: "laptop", bytes: 127, points: [{ time: DAY, bytes: 120 }, { time: 3 * DAY, bytes: 127 }] },
    { series: "b/desk", client: "b", source: null, device: null, bytes: 50, points: [{ time: 2 * DAY, bytes: 50 }] },
    { series: "a/mail", client: "a", source: null, device: "laptop", bytes: 1, points: [{ time: 4 * DAY, bytes: 1 }] },
  ]);
});
