/** A scripted core: answers as it is told, keeps nothing, seals nothing. */

import type {
  Acts, BackupProgress, BackupResult, Core, CoreEvent, Device, Entry, Environment, Hit, Key, RepositoryFacts, RestoreProgress, RestoreResult, Run, SeekProgress, SeekResult, Session,
  Growth, GrowthProgress, GrownSeries, Service, Settings, Share, ShareProgress, ShareResult, Snapshot, Status, Version, Versions, Watched,
} from "../../../src/core/api";
import { failure } from "../../../src/core/problem";
import { KEPT, foresight } from "./kept";

export const NOW = Date.UTC(2026, 10, 20, 20, 0, 0);
export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;
export const MIB = 1024 * 1024;
export const GIB = 1024 * MIB;

export function never<Value>(): Promise<Value> {
  return new Promise(() => undefined);
}

/** A run that tells its progress and then ends, fails, or goes on for ever; it obeys pause, resume and cancel. */
export function scriptedRun<Progress extends object, Result>(progress: Progress | null, end: Result | Error | null): Run<Progress, Result> {
  const listeners = new Set<(progress: Progress) => void>();
  let state = progress;
  let cancel: (reason: Error) => void = () => undefined;
  const done = new Promise<Result>((resolve, reject) => {
    cancel = reject;
    if (end instanceof Error) queueMicrotask(() => reject(end));
    else if (end !== null) queueMicrotask(() => resolve(end));
  });
  const tell = (next: string) => {
    if (!state) return;
    state = { ...state, state: next };
    for (const listener of listeners) listener(state);
  };
  return {
    onProgress(listener) {
      listeners.add(listener);
      if (state) listener(state);
      return () => listeners.delete(listener);
    },
    done,
    pause: () => tell("paused"),
    resume: () => { if (state && "state" in state && state.state === "paused") tell("running"); },
    cancel: () => cancel(failure("cancelled")),
  };
}

export const FACTS: RepositoryFacts = { id: "7f3c9a1e5b2d48c6a0f1e2d3c4b5a697", owner: "c41d8e09b7aa4f52".repeat(4), passphraseOpens: true };

export const ENVIRONMENT: Environment = {
  missing: [],
  canPickFolder: true,
  canAskWhere: true,
  canInputFolder: true,
  server: { state: "ready", repository: FACTS },
  device: { role: "none", name: null },
  suggestedName: "Firefox on Linux",
  hasEnrollmentLink: false,
  enrollsAs: null,
  lastKnown: null,
};

export const FULL: Session = { role: "full", repository: FACTS, client: "2b9e61f07c3d4a85b1e2f3a4b5c6d7e8", deviceName: "Firefox on the laptop", keyInBrowserVault: true, warnings: [] };
export const WRITE_ONLY: Session = { ...FULL, role: "write-only", deviceName: "Studio camera" };
export const SETTINGS: Settings = { idleMinutes: 15, idleWarningSeconds: 60, workers: 0, compression: "balanced", theme: "system", language: "system", notify: false, readWarnings: [], folders: "list", staleDays: 7, offline: false, price: null, quietSeries: [] };

export const NOTHING_LEFT_OUT = { excluded: 0, unreadable: 0, changing: 0, badNames: 0, examples: [] };

export const PROGRESS: BackupProgress = {
  phase: "uploading", state: "running", problem: null, retryAt: null,
  files: { done: 8_412, total: 21_760, expected: null, unchanged: 6_120 },
  bytes: { done: 1.9 * GIB, read: 1.9 * GIB, total: 4.6 * GIB, expected: null },
  unchangedBytes: 0.9 * GIB, knownBytes: 212 * MIB, newBytes: 810 * MIB, storedBytes: 388 * MIB, waitingBytes: 32 * MIB, securedBytes: 1.7 * GIB,
  rate: 41.5 * MIB, eta: 68, currentFile: "Pictures/2026/Lisbon/raw/DSC_04417.NEF",
  stages: { read: { rate: 620 * MIB, busy: 0.12 }, hash: { rate: 310 * MIB, busy: 0.34 }, compress: { rate: 94 * MIB, busy: 0.71 }, seal: { rate: 840 * MIB, busy: 0.06 }, upload: { rate: 38 * MIB, busy: 0.88 } },
  workers: 4, leftOut: NOTHING_LEFT_OUT,
};

export const RESULT: BackupResult = {
  snapshot: "a1", time: NOW - MINUTE, seconds: 112, files: 21_760, newFiles: 340, changedFiles: 28, unchangedFiles: 21_392,
  bytes: 4.6 * GIB, newBytes: 810 * MIB, knownBytes: 3.8 * GIB, storedBytes: 402 * MIB, packs: 26, resumed: false, receipt: "verified", leftOut: NOTHING_LEFT_OUT,
};

export const RESTORING: RestoreProgress = {
  state: "running", problem: null, retryAt: null, files: { done: 212, total: 640 }, bytes: { done: 380 * MIB, total: 1.1 * GIB }, fetchedBytes: 204 * MIB, rate: 52 * MIB, eta: 14, currentFile: "Lisbon/raw/DSC_04417.NEF", damaged: 0,
};
export const RESTORED: RestoreResult = { files: 640, bytes: 1.1 * GIB, seconds: 22, damaged: [], skipped: [] };

const TROUBLES: Snapshot["troubles"] = {
  unreadable: 2, changing: 1,
  names: [{ path: "Pictures/2026/locked.NEF", why: "unreadable" }, { path: "Pictures/.~catalogue.lock", why: "unreadable" }, { path: "Pictures/Mail/inbox.mbox", why: "changing" }],
};

export const SHARED: ShareResult = { ...RESTORED, link: "https://backup.example/share#Zm9yIGEgcGljdHVyZSBvZiB0aGUgcGFnZSBvbmx5ISE", ends: NOW + 7 * DAY };

export const SHARES: Share[] = [
  { id: "5a".repeat(16), label: "Lisbon in March", made: NOW - 20 * MINUTE, ends: NOW + 7 * DAY, taken: 0, count: 5, bytes: 1.1 * GIB },
  { id: "5b".repeat(16), label: "Contract.pdf", made: NOW - DAY, ends: NOW + 6 * DAY, taken: 1, count: 1, bytes: 212_000 },
  { id: "5c".repeat(16), label: null, made: NOW - 12 * DAY, ends: NOW + 18 * DAY, taken: 41, count: 1000, bytes: 84 * MIB },
];

export const DEVICES: Device[] = [
  { client: FULL.client!, name: "Firefox on the laptop", role: "full", state: "joined", since: NOW - 200 * DAY, expires: null, snapshots: 14, last: { time: NOW - 7 * MINUTE, source: "Pictures" }, isThis: true, isWhole: true },
  { client: "70".repeat(16), name: "desk", role: "full", state: "joined", since: NOW - 402 * DAY, expires: null, snapshots: 13, last: { time: NOW - 0.4 * DAY, source: "desk: /home/mara" }, isThis: false, isWhole: true },
  { client: "71".repeat(16), name: "Studio camera", role: "write-only", state: "joined", since: NOW - 61 * DAY, expires: null, snapshots: 13, last: { time: NOW - 9 * DAY, source: "Accounts" }, isThis: false, isWhole: true },
  { client: "72".repeat(16), name: "Ben’s phone", role: "write-only", state: "invited", since: NOW - DAY, expires: NOW + 6 * DAY, snapshots: 0, last: null, isThis: false, isWhole: true },
  { client: "73".repeat(16), name: "old laptop", role: "full", state: "revoked", since: NOW - 90 * DAY, expires: null, snapshots: 3, last: { time: NOW - 120 * DAY, source: "Pictures" }, isThis: false, isWhole: true },
  { client: "74".repeat(16), name: null, role: null, state: "damaged", since: null, expires: null, snapshots: 0, last: null, isThis: false, isWhole: false },
];

export function snapshots(): Snapshot[] {
  const made: Snapshot[] = [];
  const sources = [
    { source: "Pictures", series: "s1", device: "Firefox on the laptop", browser: true, bytes: 4.6 * GIB, files: 21_760 },
    { source: "desk: /home/mara", series: "s2", device: "desk", browser: false, bytes: 38 * GIB, files: 412_077 },
    { source: "Accounts", series: "s3", device: "Studio camera", browser: true, bytes: 84 * MIB, files: 611 },
  ];
  for (let i = 0; i < 40; i += 1) {
    const from = sources[i % 3] ?? sources[0]!;
    made.push({
      id: `snapshot-${i}`, time: NOW - i * 0.41 * DAY - 7 * MINUTE, source: from.source, series: from.series, device: from.device, tags: i % 9 === 4 ? ["before-move"] : [],
      files: from.files - i * 17, directories: 900, bytes: from.bytes - i * 3 * MIB, newBytes: 40 * MIB, storedBytes: 18 * MIB,
      receipt: i === 0 ? "waiting" : "verified", verifiedBy: i === 0 ? null : from.browser ? "service" : "client", pinned: i === 4, forgotten: null, fromBrowser: from.browser, troubles: i === 6 ? TROUBLES : { unreadable: 0, changing: 0, names: [] },
    });
  }
  return made;
}

export function entries(): Entry[] {
  const directory = (name: string, age: number): Entry => ({ id: `d-${name}`, name, path: name, kind: "directory", size: 0, modified: NOW - age * DAY, target: null, mode: "rwxr-xr-x" });
  const file = (name: string, bytes: number, age: number): Entry => ({ id: `f-${name}`, name, path: name, kind: "file", size: bytes, modified: NOW - age * DAY, target: null, mode: "rw-r--r--" });
  return [
    directory("2024", 402), directory("2025", 61), directory("2026", 1.2), directory("Übersicht – κατάλογος", 33),
    file("README.txt", 2_318, 210), file("album 2.pdf", 8.4 * MIB, 12), file("album 10.pdf", 11.2 * MIB, 3), file("catalogue.sqlite", 612 * MIB, 0.3), file("empty.txt", 0, 90),
    { id: "l-latest", name: "latest", path: "latest", kind: "symlink", size: 0, modified: NOW - DAY, target: "2026/Lisbon", mode: null },
    file("panorama.png", 24_118, 4), file("name with a\u202egnp.exe", 1_200, 4), file("東京の写真.jpg", 4.1 * MIB, 77),
  ];
}

export function manyEntries(number: number): Entry[] {
  return Array.from({ length: number }, (_, i): Entry => ({
    id: `m-${i}`, name: `DSC_${i.toString().padStart(5, "0")}.NEF`, path: `raw/DSC_${i}.NEF`, kind: "file", size: 18 * MIB + ((i * 7919) % 4096) * 1024, modified: NOW - i * 37_000, target: null, mode: "rw-r--r--",
  }));
}

/** A file that changed, changed back, vanished and came back, in the series of the first snapshot. */
export function versions(): Versions {
  const made = snapshots().filter(({ series }) => series === "s1");
  const file = entries().find(({ name }) => name === "README.txt")!;
  const version = (from: number, count: number, other: Partial<Version>): Version => ({
    series: "s1", entry: null, content: null, newest: made[from]!.id, oldest: made[from + count - 1]!.id, count, incomplete: false, problem: null, ...other,
  });
  const as = (bytes: number, age: number, content: number): Partial<Version> => ({ entry: { ...file, size: bytes, modified: NOW - age * DAY }, content });
  return {
    versions: [
      version(0, 2, as(2_318, 0.4, 0)), version(2, 1, as(2_318, 2.2, 0)), version(3, 2, { incomplete: true }), version(5, 4, as(1_904, 7, 2)),
      version(9, 1, as(2_604, 10.5, 3)), version(10, 1, as(1_904, 12, 2)), version(11, 2, as(2_604, 14, 5)),
    ],
    looked: 14, total: 14,
  };
}

export function hits(): Hit[] {
  const [made, other] = [snapshots().filter(({ series }) => series === "s1"), snapshots().filter(({ series }) => series === "s2")];
  const own = entries().filter(({ kind }) => kind !== "other").map((entry, i): Hit => ({ entry: { ...entry, path: i % 3 === 0 ? entry.name : `2026/Lisbon/part ${i}/${entry.name}` }, newest: made[i % 3]!.id, oldest: made[i % 3 + i]!.id, count: i + 1 }));
  return [...own, { ...own[4]!, entry: { ...own[4]!.entry, id: "home/mara/README.txt", path: "home/mara/README.txt" }, newest: other[0]!.id, oldest: other[5]!.id, count: 6 }];
}

export const STATUS: Status = {
  receipts: snapshots().slice(0, 24).map((snapshot) => ({ snapshot: snapshot.id, time: snapshot.time, source: snapshot.source, state: "verified" as const, problem: null })),
  lastCheck: { time: NOW - 0.3 * DAY, outcome: "sound", readBytes: 3.1 * GIB, findings: [] },
  space: { sourceBytes: 812 * GIB, newestBytes: 42.7 * GIB, storedBytes: 38.4 * GIB },
  history: Array.from({ length: 90 }, (_, i) => ({ time: NOW - (90 - i) * DAY, storedBytes: (24 + i * 0.16 + (i > 40 ? 3.2 : 0) - (i > 66 ? 3.9 : 0)) * GIB, sourceBytes: null })),
  resumable: [],
  unfinishedSteps: 0,
};

const every = { check: 86_400, prune: 86_400, compact: 3_600, expire: 86_400 };
export const SERVICE: Service = {
  jobs: (["expire", "compact", "prune", "check"] as const).map((job) => ({ job, every: every[job], isRunning: false, ended: NOW - 0.3 * DAY, isFailing: false })),
  lastPrune: { time: NOW - 0.6 * DAY, freedBytes: 412 * MIB },
  room: { stored: null, daily: null },
};
export const WATCHED: Watched = {
  rhythms: [{ series: "s1", client: FULL.client!, times: [0, 1, 2, 3, 4].map((days) => NOW - days * DAY - 7 * MINUTE) }],
  lastCheck: { time: NOW - 0.3 * DAY, outcome: "sound" }, service: SERVICE, since: NOW - 90 * DAY,
};

const grown = (series: string, client: string, source: string | null, device: string | null, bytes: number): GrownSeries => ({
  series, client, source, device, bytes, points: Array.from({ length: 40 }, (_, i) => ({ time: NOW - (80 - 2 * i) * DAY, bytes: bytes * (0.6 + 0.01 * (i + 1)) })),
});
export const GROWN: GrownSeries[] = [
  grown("s2", "70".repeat(16), "desk: /home/mara", "desk", 31.2 * GIB), grown("s1", FULL.client!, "Pictures", "Firefox on the laptop", 6.1 * GIB),
  grown("s4", FULL.client!, null, "Firefox on the laptop", 0.8 * GIB), grown("s3", "71".repeat(16), "Accounts", "Studio camera (write-only)", 90 * MIB),
];

export const KEYS: Key[] = [
  { slot: "5e0c".repeat(8), kind: "passphrase", created: NOW - 400 * DAY, faults: [], isCurrent: true },
  { slot: "a91d".repeat(8), kind: "recovery-code", created: NOW - 400 * DAY, faults: [], isCurrent: false },
  { slot: "77b2".repeat(8), kind: "key-file", created: NOW - 30 * DAY, faults: ["missing"], isCurrent: false },
];

const LINE = `COPAL-JOIN-1-${"7QX4K9F2MZT8WRB3HNVC5JDPE6GYSA".repeat(11)}`;

/** Something that looks like a QR code, and is none. */
function picture(): { width: number; dark: Uint8Array } {
  const width = 69;
  const isEye = (x: number, y: number) => x < 8 && y < 8;
  const dark = Uint8Array.from({ length: width * width }, (_, at) => {
    const [x, y] = [at % width, Math.floor(at / width)];
    const [a, b] = [Math.min(x, width - 1 - x), Math.min(y, width - 1 - y)];
    if (isEye(a, b) && !(x > 60 && y > 60)) return Number(a !== 7 && b !== 7 && ([0, 6].includes(a) || [0, 6].includes(b) || (a > 1 && a < 5 && b > 1 && b < 5)));
    return ((x * 7 + y * 13 + x * y) % 5) % 2;
  });
  return { width, dark };
}

/** What needs the passphrase again, as it goes on a good day; `other` is what this scene does otherwise. */
export function administering(other: Partial<Acts> = {}): Core["administer"] {
  const acts: Acts = {
    confirm: async () => ({ slot: KEYS[0]!.slot }),
    end: async () => undefined,
    keys: async () => KEYS,
    draftRecoveryCode: async () => "copal-recovery-1-7QX4K9F-2MZT8WR-B3HNVC5-JDPE6GY-SA0K4TQ-X2M7ZB9-RFWHV3N-CJ5D8TM",
    addKey: async () => ({ slot: "e2".repeat(16) }),
    removeKey: async () => undefined,
    invite: async () => ({ client: "c7".repeat(16), link: `https://backup.example/#join=${LINE}`, line: LINE, expires: NOW + 7 * DAY, picture: picture() }),
    kept: async () => KEPT, holds: async () => [], foresee: async (plan) => foresight(plan), decide: async () => ({ state: "done", unchanged: [] }), guard: () => never(),
    ...other,
  };
  return (act, ...args) => (acts[act] as (...args: unknown[]) => never)(...args);
}

/** Everything answers as it would on a good day; `other` is what this scene does otherwise. */
export function scripted(other: Partial<Core> = {}, session: Session | null = FULL): Core & { tell: (event: CoreEvent) => void } {
  const listeners = new Set<(event: CoreEvent) => void>();
  let open = session;
  let settings = SETTINGS;
  return {
    environment: async () => ENVIRONMENT,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tell: (event) => { for (const listener of listeners) listener(event); },
    unlock: async () => (open = session ?? FULL),
    session: async () => open,
    lock: async () => { open = null; },
    touch: () => undefined,
    pickFolder: async () => ({ id: "folder", name: "Pictures", label: "Pictures", via: "picker", canRemember: true, files: null, bytes: null, blindTo: ["odd-names", "links", "permissions"] }),
    folderFromInput: async (files) => ({ id: "folder", name: "Pictures", label: "Chosen files", isFiles: true, via: "input", canRemember: false, files: files.length, bytes: 12 * MIB, blindTo: ["names-not-text", "empty-folders", "links", "permissions"] }),
    folderFromDrop: async () => ({ id: "folder", name: "Pictures", label: "Pictures", via: "drop", canRemember: true, files: null, bytes: null, blindTo: ["links", "permissions"] }),
    remembered: async () => [],
    unfinished: async () => [],
    forgetUnfinished: async () => {},
    openRemembered: async () => ({ id: "folder", name: "Pictures", label: "Pictures", via: "picker", canRemember: true, files: null, bytes: null, blindTo: [] }),
    forgetRemembered: async () => undefined,
    setAutomatic: async () => undefined,
    startBackup: async () => scriptedRun<BackupProgress, BackupResult>(PROGRESS, null),
    snapshots: async () => ({ snapshots: snapshots(), damage: [] }),
    directory: async (_snapshot, directory) => {
      // Below a folder that a search has found, ids are paths.
      const here = directory.includes("/") ? entries().map((entry) => ({ ...entry, id: `${directory}/${entry.name}`, path: `${directory}/${entry.name}` })) : entries();
      return { entries: here, next: null, total: here.length, damage: [] };
    },
    search: async () => scriptedRun({ state: "running", hits: [], looked: 0 }, { hits: entries().filter((entry) => entry.kind === "file").map((entry, i) => ({ ...entry, path: `2026/Lisbon/part ${i}/${entry.name}` })), looked: 21_760, more: false, damage: [] }),
    seek: async () => scriptedRun<SeekProgress, SeekResult>({ hits: [], looked: 0, total: 40 }, { hits: hits(), looked: 40, total: 40, more: false, damage: [] }),
    versions: async () => scriptedRun<Versions, Versions>({ versions: [], looked: 0, total: 14 }, versions()),
    preview: async () => ({ bytes: new TextEncoder().encode("Pictures of 2026\n\nLisbon, in March: the raw files lie beside the albums.\n".repeat(30)), total: 2_318, kind: "text", mediaType: null }),
    part: () => never(),
    thumbnails: async (_, files) => files.map(() => ({ why: "no-picture" })),
    stream: async () => ({ address: "/tone.wav", onProblem: () => () => undefined, end: () => undefined }),
    compare: async () => ({
      changes: [
        { path: "2026/Lisbon", kind: "metadata", before: entries()[2]!, after: entries()[2]! },
        ...manyEntries(60).map((entry, i) => ({ path: `2026/Lisbon/raw/${entry.name}`, kind: (["added", "changed", "removed", "changed"] as const)[i % 4]!, before: i % 4 === 0 ? null : entry, after: i % 4 === 2 ? null : { ...entry, size: entry.size + 40_000 * i } })),
      ],
      next: null,
    }),
    measure: async () => ({ files: 640, directories: 12, bytes: 1.1 * GIB, leftOut: 0, damage: [] }),
    forgotten: async () => ({ snapshots: snapshots().slice(3, 7).map((one) => ({ ...one, forgotten: NOW - 3 * 60 * MINUTE, pinned: false })), damage: [] }),
    guard: async () => ({ grace: 7 * 86_400, stays: [{ id: "snapshot-0", by: "last", until: null }, { id: "snapshot-1", by: "young", until: NOW + 9 * DAY }] }),
    changeSnapshots: async () => ({ state: "done", unchanged: [] }),
    share: async () => scriptedRun<ShareProgress, ShareResult>(RESTORING, SHARED),
    shares: async () => SHARES,
    revokeShare: async () => undefined,
    devices: async () => DEVICES,
    lastGood: async () => ({ number: 42, hash: "9f3c11a0".repeat(8), time: NOW - 2 * DAY }),
    renameDevice: async () => undefined,
    revokeDevice: async () => undefined,
    administer: administering(),
    download: async () => scriptedRun<RestoreProgress, RestoreResult>(RESTORING, null),
    restoreInto: async () => scriptedRun<RestoreProgress, RestoreResult>(RESTORING, RESTORED),
    status: async () => STATUS,
    growth: async () => scriptedRun<GrowthProgress, Growth>({ done: 0, total: 412 }, { series: GROWN }),
    openLastKnown: async () => ({ snapshots: snapshots(), damage: [], time: NOW - 2 * DAY }),
    setOffline: async (offline) => (settings = { ...settings, offline }),
    watched: async () => WATCHED,
    service: async () => SERVICE,
    orderJob: async () => undefined,
    settings: async () => settings,
    changeSettings: async (change) => (settings = { ...settings, ...change }),
    forgetCaches: async () => undefined,
    forgetDevice: async () => undefined,
    ...other,
  };
}
