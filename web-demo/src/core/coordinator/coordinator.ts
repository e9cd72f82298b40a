//! Coordinator: the worker that owns the session. It alone talks to the server and holds what opens the repository; when
//! it ends, everything secret ends with it.

import type { Desk } from "../administration/confirmed";
import type { Act, BackupOptions, Changed, Decision, Entry, EntryId, GrowthProgress, LastGood, LastKnown, OrderedJob, Seek, SeekProgress, Settings, SnapshotList, Unlock, Versions, Wish } from "../api";
import { initSync } from "../engine";
import moduleUrl from "../../../../wasm/pkg/copal_bg.wasm?url";
import sealingUrl from "../../../../wasm/pkg/sealing_bg.wasm?url";
import type { Changing } from "./backing";
import type { Control } from "./control";
import { Gateway } from "../gateway/client";
import { browser } from "../gateway/retry";
import { upload } from "../gateway/upload";
import { Database, changeSettings, readSettings } from "../keep/database";
import { NOTHING_KEPT, type Private, openPrivate } from "../keep/private";
import { keepList, readKept, removeKept, vaultOf } from "../keep/sealed-list";
import { failure, problemOf } from "../problem";
import { Books } from "../restore/books";
import type { Existing } from "../restore/targets";
import type { FromCoordinator, ToCoordinator } from "../rpc";
import type { ShareTerms } from "../shares";
import type { Origin } from "../source/tree";
import { isStretching, spawnStretching, stretching } from "../work/stretching";
import { startStretcher } from "../work/stretcher";
import type { Known, Opened } from "./opened";
import { type Begun, Runs } from "./runs";
import { order, readService, readWatched } from "./service";
import { Staging } from "./staging";
import { Starting, compiled, loaded } from "./starting";
import { readStatus } from "./status";
import { meet, roleOf, unlock, unlockKept } from "./unlock";

const database = new Database();
const digest = async (bytes: Uint8Array<ArrayBuffer>) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
const gateway = new Gateway({ origin: location.origin, fetch: fetch.bind(globalThis), upload, surroundings: browser, digest });
const runs = new Runs(post);
const staging = new Staging(() => openPrivate("downloads"));
const engine = new Starting(async () => {
  const module = await compiled(moduleUrl);
  initSync({ module });
  await staging.start();
  return module;
});
const administration = new Starting(async () => {
  const desk = await loaded(import("../administration/desk"));
  await desk.start();
  return desk.acts;
});
/** What a backup needs, with the module for sealing. Most visits only look. */
const backups = new Starting(async () => {
  const [{ Backing, alone, start }, module] = await Promise.all([loaded(import("./backing")), compiled(sealingUrl)]);
  return { Backing, alone, sealers: start(module) };
});
let known: Known | null = null;
let opened: Opened | null = null;
let books: Books | null = null;

/** What the page may ask; a run is answered with how it is begun. */
const calls = {
  async environment() {
    await engine.begun();
    // What is open goes on with what it was opened with.
    if (!opened) {
      known?.descriptor.free();
      known = null;
      known = await meet(gateway, database);
    }
    known ??= opened!.known;
    const device = await database.get("devices", known.facts.id);
    return { repository: known.facts, device: { role: device?.role ?? "none", name: device?.name ?? null } };
  },

  async unlock(by: Unlock) {
    const module = await engine.begun();
    known ??= await meet(gateway, database);
    close();
    const stretcher = () => startStretcher(spawnStretching, module);
    opened = await unlock(by, known, gateway, database, await privateFiles(`${known.facts.id}/objects`), stretcher);
    books = opened.owner ? new Books(opened) : null;
    // What a visit without a network shows is as new as the last visit with one.
    if (opened.vault && (await readSettings(database)).offline) void calls.snapshots().catch(() => {});
    return opened.session;
  },

  async lastKnown() {
    const kept = await readKept(await offlineFiles());
    return kept && { time: kept.time };
  },

  async openLastKnown(passphrase: string): Promise<LastKnown> {
    const kept = await readKept(await offlineFiles());
    if (!kept) throw failure("server-gone");
    const module = await engine.begun();
    return { ...(await unlockKept(kept, passphrase, () => startStretcher(spawnStretching, module))), time: kept.time };
  },

  async setOffline(isOn: boolean) {
    if (isOn) await keep(current(), await library().snapshots());
    else await removeKept(await offlineFiles());
    return changeSettings(database, { offline: isOn });
  },

  session: async () => opened?.session ?? null,

  async enrollsAs(line: string) {
    await engine.begun();
    return roleOf(line);
  },

  async lock() {
    runs.stop();
    close();
    await staging.lock();
  },

  async startBackup(options: BackupOptions, origin: Origin, deviceName: string) {
    current();
    const parts = await backups.begun();
    return backup(current(), parts, options, origin, deviceName);
  },

  async snapshots() {
    const site = current();
    const list = await library().snapshots();
    // Where the browser has no room, the list of before stays, with its date.
    if (site.vault && (await readSettings(database)).offline) await keep(site, list).catch(() => {});
    return list;
  },
  directory: async (snapshot: string, directory: EntryId, after: string | null, limit: number) => library().directory(snapshot, directory, after, limit),
  preview: async (snapshot: string, file: EntryId, limit: number) => (await loaded(import("../look/preview"))).preview(library(), snapshot, file, limit),
  part: async (snapshot: string, file: EntryId, start: number, end: number) => {
    const { entry, bytes } = await library().part(snapshot, file, start, end);
    return new Handed({ bytes, total: entry.size }, [bytes.buffer]);
  },
  thumbnails: async (snapshot: string, files: EntryId[]) => (await loaded(import("../look/thumbnails"))).thumbnails(library(), snapshot, files),
  compare: async (before: string, after: string, cursor: string | null, limit: number) => library().compare(before, after, cursor, limit),
  measure: async (snapshot: string, entries: EntryId[]) => library().measure(snapshot, entries),

  forgotten: async () => library().forgotten(),

  async changeSnapshots(wish: Wish, device: string | null) {
    return sign(current(), wish, device);
  },

  /** Seals what is shared, and makes the link. Loaded when it is needed: most sessions share nothing. */
  async share(snapshot: string, entries: EntryId[], terms: ShareTerms) {
    const [site, shelf] = [current(), library()];
    const { ShareRun } = await loaded(import("../share/make"));
    const going = new ShareRun(site, shelf, snapshot, entries, terms);
    return run({ progress: () => going.progress(), work: (steering) => going.run(steering) });
  },
  shares: async () => (await loaded(import("../share/kept"))).shares(current()),
  revokeShare: async (id: string) => (await loaded(import("../share/kept"))).revoke(current(), id),

  devices: async () => (await loaded(import("./devices"))).devices(current(), library()),
  lastGood: async (client: string) => (await loaded(import("./devices"))).lastGood(current(), client),
  renameDevice: async (client: string, name: string) => (await loaded(import("./devices"))).rename(current(), client, name),
  revokeDevice: async (client: string, good: LastGood | null) => (await loaded(import("./devices"))).revoke(current(), client, good),

  /** Does what is about the repository itself: what can do it is loaded then. */
  async administer(act: Act, ...args: unknown[]) {
    const site = current();
    if (!site.owner) throw failure("not-permitted");
    const [module, acts] = [await engine.begun(), await administration.begun()];
    const work = acts[act] as (desk: Desk, ...args: unknown[]) => Promise<unknown>;
    const desk: Desk = { site, books: library, stretcher: () => startStretcher(spawnStretching, module), sign: (decision, device, check) => sign(site, decision, device, check), opensWith: (slot, by) => opensWith(site, slot, by) };
    return work(desk, ...args);
  },

  async search(snapshot: string, directory: EntryId, text: string) {
    const shelf = library();
    let found = { hits: [] as Entry[], looked: 0 };
    return run({
      progress: () => found,
      work: (control) => shelf.search(snapshot, directory, text, control, (progress) => (found = progress)),
    });
  },

  async seek(asked: Seek) {
    const { seek } = await loaded(import("../restore/seek"));
    const shelf = library();
    let found: SeekProgress = { hits: [], looked: 0, total: 0 };
    return run({
      progress: () => found,
      work: (control) => seek(shelf, asked, control, (progress) => (found = progress)),
    });
  },

  async versions(snapshot: string, entry: EntryId, isWide: boolean) {
    const { history } = await loaded(import("../restore/history"));
    const shelf = library();
    let found: Versions = { versions: [], looked: 0, total: 0 };
    return run({
      progress: () => found,
      work: (control) => history(shelf, snapshot, entry, isWide, control, (progress) => (found = progress)),
    });
  },

  /** What a download is called, and whether it is one file as itself. */
  naming: async (snapshot: string, entries: EntryId[]) => library().naming(snapshot, entries),

  tops: async (snapshot: string, entries: EntryId[]) => library().tops(snapshot, entries),

  /** `place`: what the person has picked; null: the browser's downloads. */
  async restore(snapshot: string, entries: EntryId[], place: FileSystemFileHandle | null, isZip: boolean, name: string) {
    const { download } = await loaded(import("./restoring"));
    return run(await download(library(), snapshot, entries, place, isZip, name, staging));
  },

  async restoreInto(snapshot: string, entries: EntryId[], place: FileSystemDirectoryHandle, existing: Existing) {
    const { into } = await loaded(import("./restoring"));
    return run(into(library(), snapshot, entries, place, existing));
  },

  async status() {
    const site = current();
    const unfinished = (await database.all("unfinished")).filter(({ repository }) => repository === site.known.facts.id);
    return readStatus(site, books, unfinished.map(({ label, time, bytes }) => ({ label, time, bytes })));
  },

  watched: async () => readWatched(current()),
  service: async () => readService(current()),
  orderJob: async (job: OrderedJob) => order(current(), job),

  async growth() {
    const { growth } = await loaded(import("./growth"));
    const [site, shelf] = [current(), library()];
    const files = await privateFiles(`${site.known.facts.id}/growth`);
    let done: GrowthProgress = { done: 0, total: 0 };
    return run({
      progress: () => done,
      work: async (control) => growth(site, (await shelf.snapshots()).snapshots, files, control, (progress) => (done = progress)),
    });
  },

  settings: async () => readSettings(database),
  changeSettings: async (change: Partial<Settings>) => changeSettings(database, change),
  isBusy: async () => runs.isBusy,

  async forgetCaches() {
    if (runs.isBusy) throw failure("busy");
    await changeSettings(database, { offline: false });
    const root = await navigator.storage.getDirectory();
    for await (const name of root.keys()) await root.removeEntry(name, { recursive: true }).catch(() => {});
    for (const { id } of await database.all("folders")) await database.remove("folders", id);
    for (const { id } of await database.all("unfinished")) await database.remove("unfinished", id);
  },

  async forgetDevice() {
    if (runs.isBusy) throw failure("busy");
    // Also without unlocking: a device that was revoked opens nothing any more.
    if (!known) throw failure("locked");
    await calls.forgetCaches();
    close();
    await database.remove("devices", known.facts.id);
  },
};

/** The names of what may be asked. */
export type Calls = typeof calls;

async function backup(site: Opened, { Backing, alone, sealers }: Awaited<ReturnType<typeof backups.begun>>, options: BackupOptions, origin: Origin, deviceName: string): Promise<Run> {
  const release = await alone(site.known.facts.id);
  try {
    const kept = (await privateFiles(`${site.known.facts.id}/trees`)) ?? NOTHING_KEPT;
    const backing = new Backing(site, options, origin, deviceName, kept, sealers, changed);
    const work = async (control: Control) => {
      try {
        if (!site.client) await register(site, deviceName);
        return await backing.run(control);
      } finally {
        release();
        changed("snapshots");
        changed("status");
      }
    };
    return run({ progress: () => backing.progress(), work });
  } catch (error) {
    release();
    throw error;
  }
}

/** Signs what a person wants, in the name of this browser. */
async function sign(site: Opened, wish: Wish | Decision, device: string | null, check?: (own: number | null) => Promise<void>): Promise<Changed> {
  const { change } = await loaded(import("./changing"));
  const shelf = library();
  if (!site.client) await register(site, device ?? "");
  const done = await change(site, shelf, wish, check);
  changed("snapshots");
  return done;
}

/** The key that has opened the session is another one now, or none: a removed one seals and opens nothing here any more. */
async function opensWith(site: Opened, slot: string | null, by: { slot: Uint8Array; key: Uint8Array } | null): Promise<void> {
  site.slot = slot;
  site.vault = by && (await vaultOf(by.slot, by.key));
  if (!(await readSettings(database)).offline) return;
  if (site.vault) await keep(site, await library().snapshots());
  else await removeKept(await offlineFiles());
}

/** Makes this browser a device, by a name that no other device has which has saved something. */
async function register(site: Opened, name: string): Promise<void> {
  const { snapshots } = await library().snapshots();
  const plain = (device: string) => device.replace(/ \(write-only\)$/, "").toLocaleLowerCase();
  if (snapshots.some(({ device }) => plain(device) === plain(name))) throw failure("name-taken", name);
  await site.asClient(name);
  changed("session");
}

function current(): Opened {
  if (!opened) throw failure("locked");
  return opened;
}

function library(): Books {
  current();
  if (!books) throw failure("not-permitted");
  return books;
}

function close(): void {
  books?.free();
  opened?.free();
  [books, opened] = [null, null];
}

async function privateFiles(directory: string): Promise<Private | null> {
  return openPrivate(directory).catch(() => null);
}

const offlineFiles = () => openPrivate("offline");

async function keep({ vault, known }: Opened, list: SnapshotList): Promise<void> {
  if (!vault) throw failure("seal-needs-passphrase");
  await keepList(await offlineFiles(), vault, known.facts.id, list, Date.now());
}

/** An answer with buffers that go with it. */
class Handed {
  constructor(
    readonly value: unknown,
    readonly buffers: Transferable[],
  ) {}
}

/** A run that was begun; told apart from an answer. */
class Run {
  constructor(readonly number: number) {}
}

function run<Progress, Result>(begun: Begun<Progress, Result>): Run {
  return new Run(runs.start(begun));
}

async function take({ data }: MessageEvent<ToCoordinator>): Promise<void> {
  if (data.type === "control") return runs.steer(data.run, data.control);
  const { id, method, args } = data;
  try {
    const call = calls[method as keyof Calls] as (...args: unknown[]) => Promise<unknown>;
    const value = await call(...args);
    if (value instanceof Run) post({ type: "begun", id, run: value.number });
    else if (value instanceof Handed) post({ type: "answer", id, value: value.value }, value.buffers);
    else post({ type: "answer", id, value });
  } catch (error) {
    post({ type: "refusal", id, problem: problemOf(error) });
  }
}

self.onmessage = isStretching() ? stretching : take;

function changed(what: Parameters<Changing>[0]): void {
  post({ type: "event", event: { type: "changed", what } });
}

function post(message: FromCoordinator, transfer: Transferable[] = []): void {
  postMessage(message, { transfer });
}
