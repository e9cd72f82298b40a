import { describe, expect, test } from "vitest";

import type { Entry, Snapshot } from "../../src/core/api";
import { problem } from "../../src/core/problem";
import { type Standing, versionsOf } from "../../src/core/restore/history";

const snapshot = (id: string, series = "a", incomplete = false) => ({ id, series, troubles: { unreadable: incomplete ? 1 : 0, changing: 0, names: [] } }) as unknown as Snapshot;
const is = (number: number): Standing => ({ number, content: number, entry: { name: `v${number}` } as Entry, problem: null });
const AWAY: Standing = { number: null, content: null, entry: null, problem: null };
const LOST: Standing = { ...AWAY, problem: problem("damaged") };

/** `v1x3` for three snapshots with version 1, newest first. */
function told(snapshots: Snapshot[], standings: Standing[]): string[] {
  return versionsOf(snapshots, standings).map(({ entry, problem, count, newest, oldest }) => `${problem ? "lost" : entry ? entry.name : "away"} x${count} ${newest}-${oldest}`);
}

describe("the versions of a file", () => {
  const six = ["6", "5", "4", "3", "2", "1"].map((id) => snapshot(id));

  test("are told once for snapshots that follow each other, also if they come back", () => {
    expect(told(six, [is(0), is(0), is(1), is(1), is(0), is(2)])).toEqual(["v0 x2 6-5", "v1 x2 4-3", "v0 x1 2-2", "v2 x1 1-1"]);
  });

  test("say where it was not there, but not before there was any", () => {
    expect(told(six, [AWAY, is(0), AWAY, AWAY, is(0), AWAY])).toEqual(["away x1 6-6", "v0 x1 5-5", "away x2 4-3", "v0 x1 2-2"]);
  });

  test("never say that it was not there where nobody can say", () => {
    expect(told(six, [is(0), LOST, LOST, AWAY, LOST, AWAY])).toEqual(["v0 x1 6-6", "lost x2 5-4", "lost x1 2-2"]);
  });

  test("are each series' own, and in the order of the snapshots", () => {
    const both = [snapshot("4", "a"), snapshot("3", "b"), snapshot("2", "a"), snapshot("1", "b")];
    expect(told(both, [is(0), is(0), is(0), is(1)])).toEqual(["v0 x2 4-2", "v0 x1 3-3", "v1 x1 1-1"]);
    expect(told(both, [is(0), AWAY, is(0), AWAY]), "a series that never had it").toEqual(["v0 x2 4-2"]);
  });

  test("tell where some files could not be read", () => {
    const [first] = versionsOf([snapshot("2"), snapshot("1", "a", true)], [is(0), is(0)]);
    expect(first!.incomplete).toBe(true);
  });
});
