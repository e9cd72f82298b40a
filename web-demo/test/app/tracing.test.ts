import { describe, expect, test } from "vitest";

import type { Version } from "../../src/core/api";
import { Tracing } from "../../src/app/tracing";
import { changeOf, versionBefore } from "../../src/app/versions";
import { Seeking } from "../../src/app/seeking";
import { failure } from "../../src/core/problem";
import { NOW, hits, never, scripted, scriptedRun, versions } from "./harness/scripted";

const told = (all: Version[]) => all.map((one) => changeOf(one, all, NOW));

describe("a version", () => {
  test("says what it changed", () => {
    expect(told(versions().versions)).toEqual([
      "Only its time changed", "Came back: grew by 414 B", "Not there", "The same content as 8 Nov, 20:00", "Grew by 700 B", "Shrank by 700 B", "First version",
    ]);
  });
  test("that came back as it was says so", () => {
    const [, , gone, file] = versions().versions;
    expect(told([{ ...file!, newest: "new" }, gone!, file!])[0]).toBe("Came back: the same as before");
  });
  test("is compared with its own series, and with what can be read", () => {
    const [newest, , , file] = versions().versions;
    const lost: Version = { ...file!, entry: null, content: null, problem: failure("damaged").problem };
    const other: Version = { ...file!, series: "s2" };
    expect(told([newest!, other, lost])).toEqual(["Oldest version that can be read", "First version", "Cannot be read"]);
    expect(versionBefore(newest!, [newest!, other, lost, file!])).toBe(file);
    expect(versionBefore(newest!, [newest!, other])).toBeNull();
  });
  test("is not said to be the first one while older snapshots are not looked into", () => {
    const [newest, older] = versions().versions;
    expect([newest!, older!].map((one) => changeOf(one, [newest!, older!], NOW, false))).toEqual(["Only its time changed", ""]);
  });
  test("that is a folder now says so", () => {
    const [newest, older] = versions().versions;
    expect(told([{ ...newest!, entry: { ...newest!.entry!, kind: "directory" } }, older!])[0]).toBe("Became a folder");
  });
});

describe("versions that are asked for", () => {
  test("come as they are found, and the newest question counts", async () => {
    let answer: (() => void) | null = null;
    const core = scripted({ versions: async (_snapshot, entry) => (entry === "slow" ? new Promise((resolve) => { answer = () => resolve(scriptedRun({ ...versions() }, versions())); }) : scriptedRun({ ...versions(), versions: [] }, versions())) });
    const tracing = new Tracing(core);
    const slow = tracing.open("s", "slow", false);
    await tracing.open("s", "fast", false);
    tracing.forget();
    answer!();
    await slow;
    expect(tracing.traced.value.versions).toEqual([]);
  });
  test("that fail say why", async () => {
    const tracing = new Tracing(scripted({ versions: async () => { throw failure("offline"); } }));
    await tracing.open("s", "e", true);
    expect(tracing.traced.value).toMatchObject({ running: false, problem: { code: "offline" } });
  });
});

describe("a search in all snapshots", () => {
  test("begins once something is asked for, and tells what it could not look through", async () => {
    const { problem } = failure("damaged");
    const seeking = new Seeking(scripted({ seek: async () => scriptedRun({ hits: [], looked: 0, total: 9 }, { hits: hits(), looked: 9, total: 9, more: false, damage: [problem] }) }));
    await seeking.change({ name: "  ", series: "s1" });
    expect(seeking.sought.value).toBeNull();
    await seeking.change({ kind: "picture" });
    expect(seeking.sought.value).toMatchObject({ running: false, looked: 9, problem: { code: "damaged" } });
    await seeking.change({ kind: null });
    expect(seeking.sought.value).toBeNull();
  });
  test("is forgotten when the page locks", async () => {
    const seeking = new Seeking(scripted({ seek: () => never() }));
    void seeking.change({ name: "secret plans" });
    seeking.forget();
    expect([seeking.asked.value.name, seeking.sought.value]).toEqual(["", null]);
  });
});
