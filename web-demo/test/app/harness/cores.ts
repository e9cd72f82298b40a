/** The scenes' cores: one for each state that a person may see. */

import type {
  BackupProgress, BackupResult, Core, CoreEvent, Entry, Environment, Findings, Growth, GrowthProgress, Preview, RestoreProgress, RestoreResult, SeekProgress, SeekResult, ShareProgress, ShareResult, UnfinishedBackup, Version, Versions, Watched,
} from "../../../src/core/api";
import { failure, problem } from "../../../src/core/problem";
import { foresight, held, lingering, NO_RULES } from "./kept";
import { paper } from "./paper";
import {
  administering, DAY, ENVIRONMENT, FACTS, FULL, GIB, manyEntries, MIB, MINUTE, never, NOW, PROGRESS, RESTORED, RESTORING, RESULT, scripted, scriptedRun, SERVICE, SETTINGS, SHARED, snapshots, STATUS, versions, WRITE_ONLY,
} from "./scripted";

/** Damage as a check has found it, and something that this page knows nothing of. */
const FOUND: Findings[] = [
  { kind: { fault: "damaged", thing: "pack" }, count: 2, harmed: 5, newest: snapshots().slice(0, 3), told: ["packs/9f/9f3c11: its bytes do not have the hash it is named by", "packs/ab/ab00d4: it has 17 bytes and should have 4194304"] },
  { kind: { fault: "missing", thing: "client-copy" }, count: 1, harmed: 0, newest: [], told: ["clients/7f3c/00000000000000000001~copy: only the other copy is there"] },
  { kind: null, count: 1, harmed: 0, newest: [], told: ["mirrors/eu: it lags behind"] },
];
const WRONG = failure("passphrase-wrong");
const REVOKED = failure("device-revoked");

/** A locked page whose unlocking does what the scene says. */
function locked(environment: Partial<Environment>, unlock: Core["unlock"] = () => never()): Core {
  return scripted({ environment: async () => ({ ...ENVIRONMENT, ...environment }), unlock }, null);
}

/** A backup with this progress, for ever. */
function running(progress: Partial<BackupProgress>): Core {
  return scripted({ startBackup: async () => scriptedRun<BackupProgress, BackupResult>({ ...PROGRESS, ...progress }, null) });
}

function ended(end: BackupResult | Error, progress: Partial<BackupProgress> = {}): Core {
  return scripted({ startBackup: async () => scriptedRun<BackupProgress, BackupResult>({ ...PROGRESS, ...progress }, end) });
}

/** Says something once the page is open: it asks for the session last. */
function saying(event: CoreEvent, other: Partial<Core> = {}): Core {
  const core = scripted(other);
  return { ...core, session: async () => { setTimeout(() => core.tell(event)); return core.session(); } };
}

const REMEMBERED: Partial<Core> = {
  remembered: async () => [
    { id: "r1", name: "Pictures", label: "Pictures", lastBackup: NOW - 0.9 * DAY, files: 21_420, bytes: 4.5 * GIB, excludes: [], automatic: false, permission: "granted" },
    { id: "r2", name: "Accounts", label: "Accounts of the studio, with receipts", lastBackup: NOW - 6 * DAY, files: 611, bytes: 84 * MIB, excludes: ["*.tmp"], automatic: true, permission: "ask" },
  ],
};

const REMEMBERED_LONG_AGO: Partial<Core> = {
  remembered: async () => [{ id: "r2", name: "Accounts", label: "Accounts of the studio, with receipts", lastBackup: NOW - 19 * DAY, files: 611, bytes: 84 * MIB, excludes: [], automatic: true, permission: "ask" }],
};
/** All at once. */
const ALARMING: Watched = {
  rhythms: [{ series: "s2", client: "70".repeat(16), times: [11, 12, 13, 14, 15].map((days) => NOW - days * DAY) }],
  lastCheck: { time: NOW - 9 * DAY, outcome: "damage" },
  service: { ...SERVICE, jobs: SERVICE.jobs!.map((one) => ({ ...one, isFailing: one.job === "prune" })), room: { stored: { quota: 100 * GIB, used: 96.4 * GIB }, daily: null } },
  since: NOW - 90 * DAY,
};

const UNFINISHED: UnfinishedBackup[] = [
  { id: "u1", name: "Pictures", label: "Pictures", excludes: [], time: NOW - 0.1 * DAY, safeBytes: 362 * MIB, folder: "r1" },
  { id: "u2", name: "Mail", label: "Mail", excludes: ["*.tmp"], time: NOW - 2 * DAY, safeBytes: 0, folder: null },
];

const TROUBLED = {
  excluded: 1_204, unreadable: 3, changing: 1, badNames: 0,
  examples: [
    { path: "2026/Lisbon/locked.NEF", why: "unreadable" as const, detail: "the browser was not allowed to read it" },
    { path: "2026/Lisbon/.~catalogue.lock", why: "unreadable" as const, detail: "it was deleted meanwhile" },
    { path: "Mail/inbox.mbox", why: "changing" as const, detail: null },
  ],
};

const DAMAGED: RestoreResult = {
  ...RESTORED,
  damaged: [{ path: "Lisbon/raw/DSC_04417.NEF", problem: problem("damaged") }],
  skipped: [{ path: "latest", why: "link" }, { path: "README.txt", why: "exists" }],
};

function folder(number: number, age: number): Entry {
  return { id: `d-${number}`, name: `${number}`, path: `2026/${number}`, kind: "directory", size: 0, modified: NOW - age, target: null, mode: "rwxr-xr-x" };
}

/** A version of a text: some lines are another in each. */
function text(snapshot: string): Preview {
  const lines = Array.from({ length: 60 }, (_, i) => `${i + 1}. The raw files of day ${i + 1} lie beside the albums, in the order in which they were taken.`);
  if (snapshot === "snapshot-0") {
    lines.splice(7, 2, "8. The raw files of day 8 are on the black disk.");
    lines.splice(30, 0, "Lisbon, in March: three days were cloudy.", "Porto, in April.");
  }
  const bytes = new TextEncoder().encode(`${lines.join("\n")}\n`);
  return { bytes, total: bytes.length, kind: "text", mediaType: null };
}

/** The same path on another device. */
function other(): Version {
  const made = snapshots().filter(({ series }) => series === "s2");
  const { entry } = versions().versions[0]!;
  return { series: "s2", entry: { ...entry!, size: 2_700, modified: NOW - 3 * DAY }, content: 9, newest: made[0]!.id, oldest: made[12]!.id, count: 13, incomplete: false, problem: null };
}

/** A one-pixel picture would show nothing: this draws one. */
async function picture(middle = "#d98e4a"): Promise<Uint8Array> {
  const canvas = new OffscreenCanvas(720, 420);
  const brush = canvas.getContext("2d");
  if (!brush) throw new Error("no canvas");
  const sky = brush.createLinearGradient(0, 0, 0, 420);
  sky.addColorStop(0, "#23395b");
  sky.addColorStop(0.6, middle);
  sky.addColorStop(1, "#5b3a1e");
  brush.fillStyle = sky;
  brush.fillRect(0, 0, 720, 420);
  return new Uint8Array(await (await canvas.convertToBlob({ type: "image/png" })).arrayBuffer());
}

/** A landscape of its own for each number, upright or not. */
async function landscape(number: number): Promise<Blob> {
  const [width, height] = number % 3 === 1 ? [300, 400] : [400, 300];
  const canvas = new OffscreenCanvas(width, height);
  const brush = canvas.getContext("2d")!;
  const sky = brush.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, `hsl(${190 + ((number * 37) % 160)} 55% 42%)`);
  sky.addColorStop(0.7, `hsl(${20 + ((number * 11) % 40)} 75% 68%)`);
  brush.fillStyle = sky;
  brush.fillRect(0, 0, width, height);
  for (let hill = 0; hill < 3; hill++) {
    brush.fillStyle = `hsl(${150 + ((number * 53) % 80)} 28% ${34 - hill * 9}%)`;
    brush.beginPath();
    brush.moveTo(0, height);
    for (let x = 0; x <= width; x += 10) brush.lineTo(x, height * (0.62 + hill * 0.12) + Math.sin(x / (38 + hill * 21) + number * 1.7 + hill * 2) * (26 - hill * 6));
    brush.lineTo(width, height);
    brush.fill();
  }
  return canvas.convertToBlob({ type: "image/webp" });
}

const ALBUM: Entry[] = [
  folder(1, DAY), folder(2, 3 * DAY),
  ...Array.from({ length: 34 }, (_, i): Entry => ({ id: `p-${i}`, name: `IMG_${4410 + i}.jpg`, path: `2026/IMG_${4410 + i}.jpg`, kind: "file", size: 3 * MIB + i * 61_000, modified: NOW - i * DAY, target: null, mode: null })),
  { id: "t", name: "Notes about the journey.txt", path: "t", kind: "file", size: 2_318, modified: NOW, target: null, mode: null },
];

/** A folder of pictures, shown as a gallery; of some there is none to show. */
function album(other: Partial<Core> = {}): Core {
  return scripted({
    settings: async () => ({ ...SETTINGS, folders: "gallery" }),
    directory: async () => ({ entries: ALBUM, next: null, total: ALBUM.length, damage: [] }),
    thumbnails: (_, files) => Promise.all(files.map(async (file) => {
      const number = Number(file.slice(2));
      return number === 5 ? { why: "damaged" as const } : number === 8 ? { why: "too-large" as const } : number === 12 ? { why: "broken" as const } : { picture: await landscape(number) };
    })),
    preview: async (_, file) => { const bytes = new Uint8Array(await (await landscape(Number(file.slice(2)))).arrayBuffer()); return { bytes, total: bytes.length, kind: "image", mediaType: "image/webp", pixels: { width: 4032, height: 3024 } }; },
    ...other,
  });
}

/** Looks at a file that is played. */
function playing(kind: "audio" | "video", mediaType: string, other: Partial<Core> = {}): Core {
  return scripted({ preview: async () => ({ bytes: new Uint8Array(64), total: 612 * MIB, kind, mediaType }), ...other });
}

/** Looks at a PDF. */
function reading(bytes: Uint8Array): Core {
  return scripted({ preview: async () => ({ bytes: bytes.slice(0, 64), total: bytes.length, kind: "pdf", mediaType: "application/pdf" }), part: async (_, __, start, end) => bytes.slice(start, end) });
}

const PROGRAM = `//! Walks: how far one has come.

import { open } from "./doors";

/** So many steps a day. */
const STEPS = 10_000;

export class Walk {
  #done = 0;

  constructor(private readonly name: string) {}

  go(steps = 1): boolean {
    this.#done += steps;
    if (this.#done > STEPS) return open(\`${"${this.name}"} is tired\`);
    return /home|harbour/.test(this.name);
  }
}
`;

export const CORES: Record<string, () => Core | Promise<Core>> = {
  starting: () => scripted({ environment: () => never() }, null),
  unsupported: () => scripted({ environment: async () => ({ ...ENVIRONMENT, missing: ["wasm-simd", "private-storage"] }) }, null),
  unreachable: () => locked({ server: { state: "unreachable", problem: problem("server-gone") } }),
  "no-core": async () => { throw failure("server-gone"); },
  "other-owner": () => locked({ server: { state: "unreachable", problem: problem("other-owner") } }),
  "no-repository": () => locked({ server: { state: "empty", problem: problem("no-repository") } }),
  unlock: () => locked({}, async () => FULL),
  "unlock-opening": () => locked({}),
  "unlock-wrong": () => locked({}, async () => { throw WRONG; }),
  "unlock-closed": () => locked({ server: { state: "ready", repository: { ...FACTS, passphraseOpens: false } } }),
  "unlock-full-device": () => locked({ device: { role: "full", name: "Firefox on the laptop" } }, async () => FULL),
  "unlock-offline": () => locked({}, async () => { throw failure("server-gone"); }),
  join: () => locked({ hasEnrollmentLink: true, enrollsAs: "write-only" }, async () => WRITE_ONLY),
  "join-used": () => locked({ hasEnrollmentLink: true, enrollsAs: "write-only" }, async () => { throw failure("enrollment-used"); }),
  "join-expired": () => locked({ hasEnrollmentLink: true, enrollsAs: "write-only" }, async () => { throw failure("enrollment-expired"); }),
  "join-full": () => locked({ hasEnrollmentLink: true, enrollsAs: "full" }, async () => { throw WRONG; }),
  "device-revoked": () => locked({ device: { role: "write-only", name: "Studio camera" } }, async () => { throw REVOKED; }),
  "full-revoked": () => locked({ device: { role: "full", name: "Chrome on the laptop" } }, async () => { throw failure("device-revoked"); }),
  "some-there": () => scripted({ restoreInto: async (_snapshot, _entries, decide) => ((await decide({ folder: "Documents", names: ["Lisbon", "Porto", "notes.txt"] })) ? scriptedRun<RestoreProgress, RestoreResult>(RESTORING, null) : null) }),
  "all-there": () => scripted({ restoreInto: async () => scriptedRun<RestoreProgress, RestoreResult>(RESTORING, { ...RESTORED, files: 0, bytes: 0, skipped: ["a.NEF", "b.NEF"].map((path) => ({ path, why: "exists" as const })) }) }),
  "not-registered": () => { const core = scripted(); return { ...core, session: async () => ({ ...(await core.session())!, client: null, deviceName: null }) }; },
  "write-only": () => ({ ...scripted(REMEMBERED, null), environment: async () => ({ ...ENVIRONMENT, device: { role: "write-only", name: "Studio camera" } }), unlock: async () => WRITE_ONLY, status: async () => ({ ...STATUS, space: null, history: [], receipts: STATUS.receipts.filter((one) => one.source === "Accounts") }) }),
  idle: () => saying({ type: "locked", reason: "idle" }),

  choose: () => scripted(),
  remembered: () => scripted(REMEMBERED),
  unfinished: () => scripted({ ...REMEMBERED, unfinished: async () => UNFINISHED }),
  "input-only": () => scripted({ environment: async () => ({ ...ENVIRONMENT, canPickFolder: false, canAskWhere: false }) }),
  "folder-gone": () => scripted({ ...REMEMBERED, openRemembered: async () => { throw failure("folder-gone", "Pictures"); } }),

  running: () => running({}),
  preparing: () => running({ phase: "preparing", bytes: { done: 0, read: 0, total: null, expected: null }, files: { done: 0, total: null, expected: null, unchanged: 0 }, unchangedBytes: 0, knownBytes: 0, newBytes: 0, storedBytes: 0, waitingBytes: 0, securedBytes: 0, rate: 0, eta: null, currentFile: null }),
  scanning: () => running({ phase: "scanning", bytes: { done: 210 * MIB, read: 210 * MIB, total: null, expected: null }, files: { done: 1_204, total: null, expected: null, unchanged: 900 }, eta: null, securedBytes: 0 }),
  offline: () => running({ state: "offline", problem: null, retryAt: null, rate: 0 }),
  retrying: () => running({ state: "retrying", problem: problem("server-gone"), retryAt: NOW + 12_000, rate: 0 }),
  troubled: () => running({ leftOut: TROUBLED }),
  verifying: () => running({ phase: "verifying", bytes: { done: 4.6 * GIB, read: 4.6 * GIB, total: 4.6 * GIB, expected: null }, files: { done: 21_760, total: 21_760, expected: null, unchanged: 21_392 }, rate: 0, eta: null, currentFile: null, waitingBytes: 0, securedBytes: 4.6 * GIB }),
  done: () => ended(RESULT),
  "done-later": () => scripted({ startBackup: async () => ({ ...scriptedRun<BackupProgress, BackupResult>(PROGRESS, null), done: new Promise((done) => setTimeout(() => done(RESULT), 15_000)) }) }),
  "done-waiting": () => ended({ ...RESULT, receipt: "waiting", resumed: true }),
  "done-troubled": () => ended({ ...RESULT, leftOut: TROUBLED }),
  "ended-full": () => ended(failure("server-full")),
  "ended-revoked": () => ended(REVOKED),

  snapshots: () => scripted(),
  "snapshots-twice": () => scripted({ snapshots: async () => {
    const [first, ...others] = (await scripted().snapshots()).snapshots;
    return { snapshots: [{ ...first!, id: "again", time: first!.time + 20_000 }, first!, ...others], damage: [] };
  } }),
  signing: () => scripted({ changeSnapshots: () => never() }),
  "state-older": () => scripted({ changeSnapshots: async () => { throw failure("state-older"); } }),
  "nothing-forgotten": () => scripted({ forgotten: async () => ({ snapshots: [], damage: [] }) }),
  "snapshots-none": () => scripted({ snapshots: async () => ({ snapshots: [], damage: [] }) }),
  "snapshots-long": () => scripted({ snapshots: async () => ({ snapshots: (await scripted().snapshots()).snapshots.map((one) => ({ ...one, source: `${one.source} ${"Kapitänsmützenabzeichenverordnung".repeat(6)}` })), damage: [] }) }),
  "snapshots-asking": () => scripted({ snapshots: () => never() }),
  "snapshots-failed": () => scripted({ snapshots: async () => { throw failure("server-gone"); } }),
  "snapshots-damage": () => scripted({ snapshots: async () => ({ snapshots: (await scripted().snapshots()).snapshots, damage: [problem("damaged", "manifests/2b9e61f0/00000000000000000042")] }) }),
  "browse-many": () => scripted({
    directory: async (_snapshot, _directory, after, limit) => {
      const start = after === null ? 0 : Number(after);
      return { entries: manyEntries(10_000).slice(start, start + limit), next: start + limit < 10_000 ? String(start + limit) : null, total: 10_000, damage: [] };
    },
  }),
  "browse-empty": () => scripted({ directory: async () => ({ entries: [], next: null, total: 0, damage: [] }) }),
  "browse-damaged": () => scripted({ directory: async () => { throw failure("damaged", "packs/9f/9f3c11a0"); } }),
  "search-none": () => scripted({ search: async () => scriptedRun({ state: "running", hits: [], looked: 0 }, { hits: [], looked: 21_760, more: false, damage: [] }) }),
  "preview-image": () => scripted({ preview: async () => { const bytes = await picture(); return { bytes, total: bytes.length, kind: "image", mediaType: "image/png" }; } }),
  "preview-large": () => scripted({ preview: async () => ({ bytes: new Uint8Array(0), total: 24_118, kind: "image", mediaType: "image/png", pixels: { width: 100_000, height: 100_000 } }) }),
  "preview-program": () => scripted({
    directory: async () => ({ entries: [{ ...ALBUM.at(-1)!, name: "walk.ts" }], next: null, total: 1, damage: [] }),
    preview: async () => { const bytes = new TextEncoder().encode(PROGRAM); return { bytes, total: bytes.length, kind: "text", mediaType: null }; },
  }),
  "preview-paper": () => reading(paper("The harbour in winter")),
  "preview-paper-strange": () => reading(new TextEncoder().encode("%PDF-1.7\nnothing that makes sense")),
  gallery: () => album(),
  "gallery-asking": () => album({ thumbnails: () => never() }),
  "preview-sound": () => playing("audio", "audio/wav"),
  "preview-film": () => playing("video", "video/webm", { stream: async () => ({ address: "/film.webm", onProblem: () => () => undefined, end: () => undefined }) }),
  "preview-film-damaged": () => playing("video", "video/webm", { stream: async () => ({ address: "/film.webm", onProblem: (tell) => { setTimeout(() => tell(problem("damaged", "2026/Lisbon/film.webm"))); return () => undefined; }, end: () => undefined }) }),
  "preview-film-unsupported": () => playing("video", "video/webm", { stream: async () => { throw failure("unsupported"); } }),
  "preview-film-strange": () => playing("video", "video/mp4", { stream: async () => ({ address: "/favicon.svg", onProblem: () => () => undefined, end: () => undefined }) }),
  "preview-binary": () => scripted({ preview: async () => ({ bytes: new Uint8Array(64), total: 612 * MIB, kind: "binary", mediaType: null }) }),
  "preview-damaged": () => scripted({ preview: async () => { throw failure("damaged", "README.txt"); } }),
  "versions-text": () => scripted({ preview: async (snapshot) => text(snapshot) }),
  "versions-pictures": () => scripted({ preview: async (snapshot) => { const bytes = await picture(snapshot === "snapshot-0" ? "#2f6b57" : "#d98e4a"); return { bytes, total: bytes.length, kind: "image", mediaType: "image/png" }; } }),
  "versions-long": () => scripted({ versions: async () => scriptedRun<Versions, Versions>({ ...versions(), versions: versions().versions.slice(0, 2), looked: 3 }, null) }),
  "versions-all": () => scripted({ versions: async (_snapshot, _entry, isWide) => scriptedRun<Versions, Versions>(null, isWide ? { ...versions(), versions: [...versions().versions, other()], total: 40 } : versions()) }),
  "versions-damage": () => scripted({ versions: async () => scriptedRun<Versions, Versions>(null, { ...versions(), versions: versions().versions.map((one, i) => (i === 2 ? { ...one, problem: problem("damaged", "behind 2026, up to README.txt: it is not there") } : one)) }) }),
  "versions-failed": () => scripted({ versions: async () => { throw failure("server-gone"); } }),
  "seek-running": () => scripted({ seek: async () => scriptedRun<SeekProgress, SeekResult>({ hits: [], looked: 12, total: 40 }, null) }),
  "seek-none": () => scripted({ seek: async () => scriptedRun<SeekProgress, SeekResult>(null, { hits: [], looked: 40, total: 40, more: false, damage: [] }) }),
  "seek-damage": () => { const core = scripted(); return { ...core, seek: async (asked) => { const { done, ...run } = await core.seek(asked); return { ...run, done: done.then((result) => ({ ...result, more: true, damage: [problem("damaged", "behind 2026, up to 2026/Lisbon: it is not there")] })) }; } }; },
  "compare-folders": () => scripted({ compare: async () => ({ changes: Array.from({ length: 6_240 }, (_, i) => ({ path: `2026/${i}`, kind: "metadata" as const, before: folder(i, DAY), after: folder(i, 0) })), next: null }) }),
  "compare-same": () => scripted({ compare: async () => ({ changes: [], next: null }) }),
  downloading: () => scripted(),
  damaged: () => scripted({ download: async () => scriptedRun<RestoreProgress, RestoreResult>(RESTORING, DAMAGED) }),

  status: () => scripted(),
  "status-waiting": () => scripted({ status: async () => ({ ...STATUS, receipts: STATUS.receipts.map((one, i) => (i === 0 ? { ...one, state: "waiting" } : one)), resumable: [{ label: "Pictures", time: NOW - 90 * MINUTE, bytes: 1.7 * GIB }] }) }),
  "status-unfinished": () => scripted({ status: async () => ({ ...STATUS, resumable: [{ label: "Pictures", time: NOW - 9 * MINUTE, bytes: 1.7 * GIB }], unfinishedSteps: 3 }) }),
  "status-unfinished-first": () => scripted({ status: async () => ({ ...STATUS, receipts: [], history: [], space: null, unfinishedSteps: 1 }) }),
  "status-damage": () => scripted({ status: async () => ({ ...STATUS, lastCheck: { time: NOW - DAY, outcome: "damage", readBytes: 38 * GIB, findings: FOUND }, receipts: STATUS.receipts.map((one, i) => (i === 1 ? { ...one, state: "rejected", problem: problem("manifest-rejected") } : one)) }) }),
  "status-none": () => scripted({ status: async () => ({ receipts: [], lastCheck: null, space: null, history: [], resumable: [], unfinishedSteps: 0 }) }),
  "status-asking": () => scripted({ status: () => never() }),
  "status-running": () => scripted({ service: async () => ({ ...SERVICE, jobs: SERVICE.jobs!.map((one) => ({ ...one, isRunning: one.job === "check" })) }) }),
  "status-refused": () => scripted({ orderJob: async () => { throw failure("job-rested"); } }),
  "status-growing": () => scripted({ growth: async () => scriptedRun<GrowthProgress, Growth>({ done: 180, total: 412 }, null) }),
  "status-cost": () => scripted({ settings: async () => ({ ...SETTINGS, price: 0.023 }) }),
  "status-by-itself": () => scripted({ service: async () => ({ ...SERVICE, jobs: null }) }),
  alarms: () => scripted({ watched: async () => ALARMING, administer: administering({ holds: async () => held().holds.slice(0, 1) }), ...REMEMBERED_LONG_AGO }, { ...FULL, warnings: [problem("storage-short-lived")] }),
  /** Tells once what alarms are judged by. */
  "alarms-once": () => {
    let told = 0;
    return scripted({ watched: async () => { if (told++ > 0) throw failure("server-gone"); return ALARMING; } });
  },
  "share-large": () => scripted({ measure: async () => ({ files: 21_760, directories: 900, bytes: 4.6 * GIB, leftOut: 0, damage: [] }) }),
  sharing: () => scripted({ share: async () => scriptedRun<ShareProgress, ShareResult>(RESTORING, null) }),
  "share-failed": () => scripted({ share: async () => { throw failure("quota"); } }),
  "share-left-out": () => scripted({ share: async () => scriptedRun<ShareProgress, ShareResult>(null, { ...SHARED, damaged: DAMAGED.damaged, skipped: [{ path: "Lisbon/latest", why: "link" }] }) }),
  "shares-none": () => scripted({ shares: async () => [] }),
  "shares-failed": () => scripted({ shares: async () => { throw failure("server-gone"); } }),
  devices: () => scripted(),
  "devices-asking": () => scripted({ devices: () => never() }),
  "devices-never": () => scripted({ lastGood: async () => null }),
  "devices-taken": () => scripted({ administer: administering({ invite: async () => { throw failure("invitation-name-taken", "Ben's phone"); } }) }),
  "keys-asking": () => scripted({ administer: administering({ keys: () => never() }) }),
  "keys-failed": () => scripted({ administer: administering({ keys: async () => { throw failure("server-gone"); } }) }),
  "keys-wrong": () => scripted({ administer: administering({ confirm: async () => { throw WRONG; } }) }),
  "keys-unproven": () => scripted({ administer: administering({ addKey: async () => { throw failure("key-unproven"); } }) }),
  "devices-failed": () => scripted({ revokeDevice: async () => { throw failure("state-older"); } }),
  kept: () => scripted(),
  "kept-none": () => scripted({ administer: administering({ kept: async () => NO_RULES }) }),
  "kept-lingering": () => scripted({ administer: administering({ kept: async () => lingering(), foresee: async (plan) => foresight(plan, true) }) }),
  "kept-held": () => scripted({ administer: administering({ kept: async () => held() }) }),
  "kept-asking": () => scripted({ administer: administering({ kept: () => never() }) }),
  "kept-damaged": () => scripted({ administer: administering({ kept: async () => { throw failure("damaged"); } }) }),
  "kept-weighing": () => scripted({ administer: administering({ foresee: () => never() }) }),
  "kept-signing": () => scripted({ administer: administering({ decide: () => never() }) }),
  "kept-overtaken": () => scripted({ administer: administering({ decide: async () => { throw failure("policy-changed"); } }) }),
  settings: () => scripted({}, { ...FULL, warnings: [problem("storage-short-lived")] }),
  "settings-offline-refused": () => scripted({ setOffline: async () => { throw failure("seal-needs-passphrase"); } }),
  "last-known": () => locked({ server: { state: "unreachable", problem: problem("offline") }, lastKnown: { time: NOW - 2 * DAY } }),
  "last-known-wrong": () => ({ ...locked({ server: { state: "unreachable", problem: problem("server-gone") }, lastKnown: { time: NOW - 2 * DAY } }), openLastKnown: async () => { throw failure("passphrase-wrong"); } }),
  "settings-dark": () => scripted({ settings: async () => ({ ...SETTINGS, theme: "dark" }) }),
  "lock-soon": () => saying({ type: "lock-soon", secondsLeft: 42 }),
  "no-network": () => saying({ type: "network", online: false }),
  elsewhere: () => saying({ type: "elsewhere", held: true }),
};

