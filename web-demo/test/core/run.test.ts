import { beforeEach, expect, test, vi } from "vitest";

import { Control } from "../../src/core/coordinator/control";
import type { Scanned } from "../../src/core/source/tree";
import type { Block, Read } from "../../src/core/work/protocol";

const said = vi.hoisted(() => ({ missed: [] as string[], changing: [] as string[], again: 0, failed: 0, ended: [] as object[], same: 0, begun: 0, isFinished: false, actions: [] as unknown[], closed: [] as unknown[], unlisted: 0, due: Infinity, stored: [] as number[], claims: 0, now: 1, hidesEntries: false }));

vi.mock("../../src/core/engine", () => ({
  inColumns: (files: unknown[]) => files,
  // As far as the end of the scan. All chunks are new, and every second file fills a block.
  Backup: class {
    source = "s";
    undecided = [];
    get unlisted() {
      return said.unlisted;
    }
    tally = { files: 1, newBytes: 0 };
    #lengths: number[] = [];
    #ends = 0;
    isIdle = true;
    constructor(_client: unknown, _descriptor: unknown, _view: unknown, start: { hidesEntries: boolean }) {
      said.hidesEntries = start.hidesEntries;
    }
    nextManifest = () => {
      said.begun += 1;
      return null;
    };
    parent = () => false;
    takeBlockKey = () => new Uint8Array(32);
    compare = (files: { size: number }[]) => Uint8Array.from(files, ({ size }) => (size > 1 ? 1 : 0));
    takeSame = (count: number) => void (said.same += count);
    actions = () => said.actions.splice(0);
    sealerKey = () => new Uint8Array(64);
    sealed = () => {};
    named = (number: number) => `packs/${number}`;
    free = () => {};
    begin = () => {};
    chunks = (_ids: Uint8Array, lengths: Uint32Array) => {
      this.#lengths.push(...lengths);
      return new Uint8Array(lengths.length).fill(1);
    };
    end = (file: object) => {
      said.ended.push(file);
      if (++this.#ends % 2 === 1) return;
      said.actions.push({ type: "seal", counter: this.#ends, kind: "data", ids: new Uint8Array(0), lengths: Uint32Array.from(this.#lengths.splice(0)), raw: null });
    };
    miss = (path: string) => void said.missed.push(path);
    changing = (path: string) => void said.changing.push(path);
    again = () => void (said.again += 1);
    fail = () => void (said.failed += 1);
    finish = () => {
      if (!said.isFinished) throw new Error("enough");
    };
    checkpoint = () => {
      said.due = 1;
      said.actions.push(...said.closed.splice(0));
    };
    takeKept = () => null;
    expectedBytes = 0;
    aim = () => {};
    stored = (number: number) => void said.stored.push(number);
    claimStored = () => {
      const claimed = said.stored.splice(0).length;
      said.due += claimed;
      return claimed;
    };
    nextClaim = () => (said.due-- > 0 ? { message: null, isLast: said.due === 0 } : null);
    claimed = () => {
      const number = ++said.claims;
      return { key: `manifests/c/${number}`, bytes: Uint8Array.of(1, number), sha256: new Uint8Array(32), number, partial: false, snapshot: "s" };
    };
  },
}));

const { BackupRun } = await import("../../src/core/backup/run");

beforeEach(() => Object.assign(said, { missed: [], changing: [], again: 0, failed: 0, ended: [], same: 0, begun: 0, isFinished: false, actions: [], unlisted: 0, due: Infinity, stored: [], claims: 0, now: 1 }));

/** A run up to the end of the scan, or of what follows it. */
async function run(scan: () => AsyncGenerator<Scanned>, labour: object = {}, gateway: object = {}, ending = "enough", control = new Control()) {
  const kept = { read: async () => null, write: async () => {}, remove: async () => {}, list: async () => [], create: () => Promise.reject(new Error("full")), file: () => Promise.reject(new Error("full")) };
  const site = {
    client: { facts: { client: "c" } }, descriptor: {}, gateway: { time: async () => 1_000_000n, ...gateway }, labour: { workers: 1, begin: () => {}, ...labour }, kept, sign: null,
    openView: async () => ({ free: () => {} }), random: (length: number) => new Uint8Array(length), now: () => said.now, secured: async () => {},
  };
  const run = new BackupRun(site as unknown as ConstructorParameters<typeof BackupRun>[0], { host: "h", label: "", paths: ["P"], program: "p", bytes: null, scan }, control);
  await expect(run.run()).rejects.toThrow(ending);
  return run;
}

/** Seals a block by noting what it holds. */
function sealing(blocks: string[]) {
  return async ({ raw }: Block) => {
    blocks.push(new TextDecoder().decode(raw));
    return { stored: new Uint8Array(1), raw: raw.buffer };
  };
}

/** A file of which so many bytes are read. */
const file = (name: string, size: number) => Object.defineProperty(new File([], name, { lastModified: 1 }), "size", { value: size });

const chunk = (bytes: Uint8Array<ArrayBuffer>) => ({ ids: new Uint8Array(24), lengths: Uint32Array.of(bytes.length), bytes });

test("what could not be saved makes the snapshot incomplete, what was left out on purpose does not", async () => {
  const { ledger } = await run(async function* () {
    yield { kind: "left-out", path: "P/a", why: "excluded", detail: null };
    yield { kind: "left-out", path: "P/b", why: "unreadable", detail: "NotReadableError" };
    yield { kind: "left-out", path: "P/c", why: "bad-name", detail: null };
    yield { kind: "file", path: "P/d", size: 1, modified: 1, open: async () => new File(["x"], "d") };
  });
  expect(said.missed).toEqual(["P/b", "P/c"]);
  // The snapshot cannot list what the browser does not show, so it says that its exclusions are not complete.
  expect(said.hidesEntries).toBe(true);
  expect(ledger.leftOut).toMatchObject({ excluded: 1, unreadable: 1, badNames: 1 });
});

test("entries that are as they were are taken over, and of them files are counted", async () => {
  const { ledger } = await run(async function* () {
    yield { kind: "directory", path: "P" };
    for (const path of ["P/a", "P/b", "P/c"]) yield { kind: "file", path, size: 1, modified: 1, open: () => Promise.reject() };
  });
  expect(said.same).toBe(4);
  expect(ledger).toMatchObject({ filesDone: 3, unchangedFiles: 3, unchangedBytes: 3, bytesDone: 3 });
});

test("what is left out is counted once, also if the run begins anew because another one was faster", async () => {
  said.isFinished = true;
  const faster = { create: async () => false, read: async () => Uint8Array.of(2) };
  const scan = async function* (): AsyncGenerator<Scanned> {
    yield { kind: "left-out", path: "P/b", why: "unreadable", detail: "NotReadableError" };
    yield { kind: "file", path: "P/d", size: 1, modified: 1, open: async () => new File(["x"], "d") };
  };
  const { ledger } = await run(scan, {}, faster, "manifest-rejected");
  expect(said.begun).toBeGreaterThan(1);
  expect(ledger.leftOut).toMatchObject({ unreadable: 1, examples: [{ path: "P/b" }] });
  expect(ledger.filesDone).toBe(1);
});

test("what small files came in is given back with the last of them, and blocks have their bytes all the same", async () => {
  const shared = new TextEncoder().encode("one,two,three,");
  const ends = [4, 8, 14];
  const parts = ends.map((end, at) => shared.subarray(ends[at - 1] ?? 0, end));
  const blocks: string[] = [];
  const lengths: number[] = [];
  const read = async (files: Uint8Array<ArrayBuffer>[]): Promise<Read[]> => files.map((bytes) => ({ kind: "chunks", ...chunk(bytes) }));
  await run(
    async function* () {
      for (const [at, bytes] of parts.entries()) {
        yield { kind: "file", path: `P/${at}`, size: bytes.length, modified: 1, open: () => Promise.reject(), read: async () => ({ bytes, modified: 1 }) };
      }
      // Fills the second block.
      yield { kind: "file", path: "P/4", size: 5 << 20, modified: 1, open: async () => file("P/4", 4) };
    },
    {
      read,
      seal: sealing(blocks),
      stream: async function* () {
        // Is asked for when all of the others were taken.
        lengths.push(shared.buffer.byteLength);
        yield chunk(new TextEncoder().encode("four"));
      },
    },
  );
  expect(lengths).toEqual([0]);
  expect(blocks).toEqual(["one,two,", "three,four"]);
});

test("windows of a large file are given back one by one, and blocks have their bytes all the same", async () => {
  const windows = ["first ", "second ", "third"].map((text) => new TextEncoder().encode(text));
  const blocks: string[] = [];
  const left: number[] = [];
  await run(
    async function* () {
      for (const name of ["a", "b"]) yield { kind: "file", path: `P/${name}`, size: 5 << 20, modified: 1, open: async () => file(name, name === "a" ? 18 : 0) };
    },
    {
      seal: sealing(blocks),
      stream: async function* (file: File) {
        for (const window of file.name === "a" ? windows : []) {
          yield chunk(window);
          left.push(window.buffer.byteLength);
        }
      },
    },
  );
  expect(left).toEqual([0, 0, 0]);
  expect(blocks).toEqual(["first second third"]);
});

test("what is stored is claimed soon for the first time, twice as late each time, and every two minutes then", async () => {
  let clock = 0;
  const time = vi.spyOn(performance, "now").mockImplementation(() => clock);
  const claimed: number[] = [];
  said.unlisted = 1;
  try {
    await run(
      async function* () {
        for (let at = 0; at < 50; at++) yield { kind: "file", path: `P/${String(at).padStart(2, "0")}`, size: 5 << 20, modified: 1, open: async () => file("f", 7) };
      },
      {
        seal: sealing([]),
        // Each takes six seconds.
        stream: async function* () {
          clock += 6_000;
          yield chunk(new TextEncoder().encode("content"));
        },
      },
      { create: async () => { claimed.push(clock / 1000); return true; } },
    );
  } finally {
    time.mockRestore();
  }
  expect(claimed).toEqual([18, 48, 108, 228]);
});

test("nothing is dated by a clock that is an hour off the server's, or more", async () => {
  const nothing = async function* (): AsyncGenerator<Scanned> {};
  const at = (ms: number) => ({ time: async () => BigInt(ms) * 1_000_000n });
  for (const ms of [2 + 3_600_000, -3_600_000]) await run(nothing, {}, at(ms), "clock");
  await run(nothing, {}, at(1 + 3_600_000));
});

test("clocks are compared once the server has answered, however long that took", async () => {
  const nothing = async function* (): AsyncGenerator<Scanned> {};
  const time = async () => {
    said.now = 5 * 3_600_000;
    return BigInt(said.now) * 1_000_000n;
  };
  await run(nothing, {}, { time });
});

test("a run that fails ends, however many files wait for room to be read ahead", async () => {
  const scan = async function* (): AsyncGenerator<Scanned> {
    for (let at = 0; at < 10; at++) yield { kind: "file", path: `P/${at}`, size: 5 << 20, modified: 1, open: async () => new File([], "f") };
  };
  const stream = async function* (): AsyncGenerator<never> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    throw new Error("the server is full");
  };
  await run(scan, { stream }, {}, "the server is full");
});

test("of a run that fails, what is stored by then or soon after is claimed, and what does not arrive is not", async () => {
  const created: string[] = [];
  const scan = async function* (): AsyncGenerator<Scanned> {
    for (const name of ["a", "b"]) yield { kind: "file", path: `P/${name}`, size: 5 << 20, modified: 1, open: async () => file(name, 7) };
  };
  const stream = async function* (file: File) {
    const number = file.name === "a" ? 1 : 2;
    said.actions.push({ type: "store", number, bytes: new Uint8Array(9) });
    yield chunk(new TextEncoder().encode("content"));
  };
  said.due = 0;
  const create = async (_patience: unknown, key: string) => {
    created.push(key);
    if (key === "packs/2") throw new Error("the disk is full");
    return true;
  };
  const { ledger } = await run(scan, { seal: sealing([]), stream }, { create });
  expect(created.sort()).toEqual(["manifests/c/1", "packs/1", "packs/2"]);
  expect(ledger).toMatchObject({ claimedBytes: 1, storedBytes: 9 });
});

test("a manifest whose request breaks off is stored before the next one, so that the chain has no gap", async () => {
  const asked: string[] = [];
  const scan = async function* (): AsyncGenerator<Scanned> {
    yield { kind: "file", path: "P/a", size: 5 << 20, modified: 1, open: async () => file("a", 7) };
  };
  const create = async (_patience: unknown, key: string) => {
    if (!key.startsWith("manifests/")) return true;
    asked.push(key);
    if (asked.length === 1) throw new Error("the request broke off");
    return true;
  };
  /** Stores these packs, and claims them at once. */
  const claiming = async (packs: number[]) => {
    asked.length = 0;
    Object.assign(said, { unlisted: 64, due: 0, claims: 0, stored: [], actions: [] });
    const stream = async function* () {
      said.actions.push(...packs.map((number) => ({ type: "store", number, bytes: new Uint8Array(9) })));
      yield chunk(new TextEncoder().encode("content"));
    };
    await run(scan, { seal: sealing([]), stream }, { create }, "the request broke off");
    return asked;
  };
  expect(await claiming([1])).toEqual(["manifests/c/1", "manifests/c/1", "manifests/c/2"]);
  // Also if no pack was stored since.
  expect(await claiming([])).toEqual(["manifests/c/1", "manifests/c/1"]);
});

test("of a run that a person stops, what arrives as long as it may is claimed; of one whose session is over, nothing", async () => {
  // Stopped while its first pack is on its way; that of the checkpoint never arrives.
  const stopped = async (grace: number) => {
    const created: string[] = [];
    const control = new Control();
    const create = async ({ signal }: { signal: AbortSignal }, key: string) => {
      if (key === "packs/1") {
        control.cancel(grace);
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      if (key === "packs/2") await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signal.throwIfAborted();
      created.push(key);
      return true;
    };
    const scan = async function* (): AsyncGenerator<Scanned> {
      for (const name of ["a", "b"]) yield { kind: "file", path: `P/${name}`, size: 5 << 20, modified: 1, open: async () => file(name, 7) };
    };
    const stream = async function* (of: File) {
      if (of.name === "a") said.actions.push({ type: "store", number: 1, bytes: new Uint8Array(9) });
      else await vi.waitUntil(() => control.isCancelled, { interval: 1 });
      yield chunk(new TextEncoder().encode("content"));
    };
    Object.assign(said, { actions: [], closed: [{ type: "store", number: 2, bytes: new Uint8Array(9) }], stored: [], due: 0, unlisted: 1 });
    await run(scan, { seal: sealing([]), stream }, { create }, "cancelled", control);
    return created;
  };
  expect(await stopped(100)).toEqual(expect.arrayContaining(["packs/1", "manifests/c/1"]));
  expect(await stopped(0)).toEqual([]);
});

test("a large file that changes is read three times, the last time from what it is then, and is saved as one that was changing", async () => {
  let written = 0;
  const streamed: string[] = [];
  const scan = async function* (): AsyncGenerator<Scanned> {
    yield { kind: "file", path: "P/log", size: 5 << 20, modified: 1, open: async () => Object.defineProperty(new File([], "log", { lastModified: ++written }), "size", { value: 7 }) };
  };
  const stream = async function* (of: File | { size: number }) {
    streamed.push(of instanceof File ? "file" : "slices");
    yield chunk(new TextEncoder().encode("content"));
  };
  const { ledger } = await run(scan, { seal: sealing([]), stream });
  expect(streamed).toEqual(["file", "file", "slices"]);
  // The time is that of before the last reading: the next backup reads it again.
  expect(said.ended).toEqual([{ path: "P/log", size: 7, modified: 5 }]);
  expect([said.again, said.failed, said.changing]).toEqual([2, 0, ["P/log"]]);
  expect(ledger.leftOut).toMatchObject({ unreadable: 0, changing: 1, examples: [{ path: "P/log", why: "changing" }] });
  expect(ledger).toMatchObject({ filesDone: 1, bytesDone: 7 });
});
