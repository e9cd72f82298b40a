import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Control } from "../../src/core/coordinator/control";
import type { Opened } from "../../src/core/coordinator/opened";
import type { Remembered } from "../../src/core/keep/database";

const ended = vi.hoisted(() => ({ receipt: "waiting" }));
vi.mock("../../src/core/coordinator/labour", () => ({ alone: null, start: null }));
vi.mock("../../src/core/backup/run", () => ({ BackupRun: class { run = async () => ({ number: 4, time: 7, ...ended }); } }));
vi.mock("../../src/core/engine", () => ({ receipt: (_client: string, _number: number, bytes: Uint8Array) => ({ outcome: bytes[0] === 1 ? "accepted" : "rejected" }) }));

const { Backing } = await import("../../src/core/coordinator/backing");
const { lateAnswer } = await import("../../src/core/backup/late");

const [ACCEPTED, REJECTED] = [Uint8Array.of(1), Uint8Array.of(2)];
const row = (id: string, lastBackup: number | null, files: number | null = null): Remembered =>
  ({ id, repository: "r", name: id, label: id, excludes: [], handle: {} as FileSystemDirectoryHandle, lastBackup, files, bytes: files, automatic: true });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A service that gives its answer at the third look, and what the browser keeps of folders by then. */
function site(answer: Uint8Array<ArrayBuffer>, rows: Remembered[]) {
  const asked: number[] = [];
  const gateway = { receipt: async (_patience: unknown, _client: string, number: number) => (asked.push(number) < 3 ? null : answer) };
  const database = {
    all: async () => rows.map((row) => ({ ...row })),
    get: async () => null,
    put: async () => {},
    remove: async () => {},
    change: async (_table: string, id: string, change: (row: Remembered) => Remembered | null) => {
      const at = rows.findIndex((row) => row.id === id);
      rows[at] = change(rows[at]!) ?? rows[at]!;
    },
  };
  return { asked, rows, opened: { gateway, database } as unknown as Opened };
}

test("the answer to a backup is looked for until it is there", async () => {
  const { asked, rows, opened } = site(ACCEPTED, [row("a", 7)]);
  const late = lateAnswer(opened, "c", { number: 4, time: 7 }, [row("a", 5)]);
  await vi.advanceTimersByTimeAsync(9_000);
  expect(asked).toEqual([]);
  await vi.advanceTimersByTimeAsync(61_000);
  expect(await late).toBe(false);
  expect(asked).toEqual([4, 4, 4]);
  expect(rows).toEqual([row("a", 7)]);
});

test("a folder whose backup was rejected was last backed up when it was before, and no other is touched", async () => {
  const { rows, opened } = site(REJECTED, [row("a", 7, 3), row("other", 6, 2), row("new", 7, 1)]);
  const late = lateAnswer(opened, "c", { number: 4, time: 7 }, [row("a", 5, 1), row("other", 4)]);
  await vi.advanceTimersByTimeAsync(70_000);
  expect(await late).toBe(true);
  expect(rows).toEqual([row("a", 5, 1), row("other", 6, 2), row("new", null)]);
});

test("of two backups that are rejected neither is the last one, whichever answer comes first", async () => {
  for (const order of [[17, 19], [19, 17]]) {
    const id = order.join();
    const { opened, rows } = site(REJECTED, [row(id, 19)]);
    for (const time of order) {
      const late = lateAnswer(opened, "c", { number: 4, time }, [row(id, time === 17 ? 15 : 17)]);
      await vi.advanceTimersByTimeAsync(70_000);
      await late;
    }
    expect(rows).toEqual([row(id, 15)]);
  }
});

test("a backup ends without the answer, and the page hears when that is there", async () => {
  const told = async (receipt: "waiting" | "verified", answer: Uint8Array<ArrayBuffer>) => {
    ended.receipt = receipt;
    const changed: string[] = [];
    const { opened, rows } = site(answer, [row("a", 5)]);
    const all = { ...opened, asClient: async () => ({ facts: { client: "c" } }), known: { facts: { id: "r" }, descriptor: { facts: {} } } } as unknown as Opened;
    const origin = { via: "list" as const, name: "P", tops: [], columns: { text: "", ends: new Uint32Array(), sizes: new Float64Array(), times: new Float64Array() }, port: {} as MessagePort, unreadable: [] };
    const sealers = { compressor: {} as never, hire: async () => ({ end: () => {} }) as never };
    const backing = new Backing(all, { folder: "f", label: "a", excludes: [], remember: true }, origin, "d", {} as never, sealers, (what) => changed.push(what));
    const result = await backing.run(new Control());
    expect(result).toEqual({ receipt, time: 7, resumed: false });
    rows[0]!.lastBackup = result.time;
    await vi.advanceTimersByTimeAsync(80_000);
    return { changed, last: rows[0]!.lastBackup };
  };
  expect(await told("waiting", ACCEPTED)).toEqual({ changed: ["snapshots", "status"], last: 7 });
  expect(await told("waiting", REJECTED)).toEqual({ changed: ["remembered", "snapshots", "status"], last: 5 });
  expect(await told("verified", REJECTED)).toEqual({ changed: [], last: 7 });
});
