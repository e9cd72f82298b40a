//! Core: everything of the page that is not display. This part is on the page's own thread: pickers, drops, the last step
//! of a download, idle time; all else is the coordinator's.

import type {
  BackupOptions, BackupProgress, BackupResult, Core, CoreEvent, Decide, DownloadOptions, EntryId, Environment, Folder, LastKnown,
  RememberedFolder, RestoreProgress, RestoreResult, Run, Session, Settings, UnfinishedBackup, Unlock, Unwarned,
} from "./api";
import coordinatorUrl from "./coordinator/entry.ts?worker&url";
import { lineIn, takeLink } from "./enrollment";
import { deviceName, missingFeatures } from "./features";
import { type Restored, handedOver, through } from "./handing";
import { BLIND_HANDLE, type Chosen, ofDrop, ofInput, pick, sendable } from "./folders";
import { Idle, wallClock } from "./idle";
import { DEFAULTS, Database } from "./keep/database";
import { isPageKept, keepNewPage } from "./keep/kept-page";
import { type CoordinatorLike, Line } from "./line";
import { type ReadPart, Streams } from "./look/streams";
import { failure, problemOf } from "./problem";
import { alreadyIn, freeFolder, pickTarget } from "./restore/onto";
import { Tabs } from "./tabs";
import { ownScript } from "./trusted";

/** Makes the core. One for the page's life. */
export async function connect(): Promise<Core> {
  return new PageCore(() => new Worker(ownScript(coordinatorUrl), { type: "module", name: "copal" }) as CoordinatorLike);
}

class PageCore implements Core {
  #line: Line;
  #database = new Database();
  #listeners = new Set<(event: CoreEvent) => void>();
  #chosen = new Map<string, Chosen>();
  #settings: Settings = DEFAULTS;
  #idle: Idle;
  #link: string | null;
  #repository: string | null = null;
  #touched = 0;
  /** Whether the browser has promised to keep what is stored here. */
  #isKept = true;
  #tabs = new Tabs(navigator.locks, (held) => this.#tell({ type: "elsewhere", held }));
  #part: ReadPart = (...args) => this.#line.ask("part", ...args);
  #streams = new Streams((...args) => this.#part(...args));

  constructor(spawn: () => CoordinatorLike) {
    this.#link = takeLink(location, history);
    this.#line = new Line(spawn, (event) => this.#tell(event));
    this.#idle = new Idle(wallClock, {
      limits: () => ({ idle: this.#settings.idleMinutes * 60_000, warning: this.#settings.idleWarningSeconds * 1_000 }),
      isBusy: () => this.#line.isBusy,
      soon: (secondsLeft) => this.#tell({ type: "lock-soon", secondsLeft }),
      lock: () => void this.#lock("idle"),
    });
    addEventListener("online", () => this.#tell({ type: "network", online: true }));
    addEventListener("offline", () => this.#tell({ type: "network", online: false }));
    addEventListener("hashchange", () => void this.#heedLink());
    document.addEventListener("visibilitychange", () => this.#idle.look());
    // A tab that is closed in the middle asks first; what a manifest covers stays in any case.
    addEventListener("beforeunload", (event) => {
      if (this.#line.isBusy) event.preventDefault();
    });
  }

  async environment(early?: (environment: Environment) => void): Promise<Environment> {
    const missing = missingFeatures();
    const base = {
      missing,
      canPickFolder: "showDirectoryPicker" in globalThis,
      canAskWhere: "showSaveFilePicker" in globalThis,
      canInputFolder: "webkitdirectory" in HTMLInputElement.prototype,
      suggestedName: deviceName(),
      hasEnrollmentLink: this.#link !== null,
      enrollsAs: null,
      lastKnown: null,
    };
    const nobody = { role: "none", name: null } as const;
    if (missing.length > 0) {
      return { ...base, server: { state: "unreachable", problem: failure("unsupported").problem }, device: nobody };
    }
    this.#settings = await this.settings();
    // Without a network the coordinator would wait for one.
    const away = navigator.onLine ? null : await this.#lastKnown();
    if (away) return { ...base, server: { state: "unreachable", problem: failure("offline").problem }, device: nobody, lastKnown: away };
    // The engine is most of the page: a passphrase can be typed while it comes.
    if (early && this.#link === null && !(await this.#opensItself())) early({ ...base, server: { state: "asking" }, device: nobody });
    try {
      const { repository, device } = await this.#line.ask<Pick<Environment, "device"> & { repository: Session["repository"] }>("environment");
      this.#repository = repository.id;
      const enrollsAs = this.#link === null ? null : await this.#line.ask<Environment["enrollsAs"]>("enrollsAs", this.#link);
      if (this.#settings.offline) void keepNewPage();
      // A link may have been opened meanwhile.
      return { ...base, hasEnrollmentLink: this.#link !== null, enrollsAs, server: { state: "ready", repository }, device };
    } catch (error) {
      const problem = problemOf(error);
      const lastKnown = AWAY.has(problem.code) ? await this.#lastKnown() : null;
      return { ...base, server: { state: problem.code === "no-repository" ? "empty" : "unreachable", problem }, device: nobody, lastKnown };
    }
  }

  async #lastKnown(): Promise<Environment["lastKnown"]> {
    return this.#line.ask<Environment["lastKnown"]>("lastKnown").catch(() => null);
  }

  /** Whether this browser may be a device that needs no passphrase. */
  async #opensItself(): Promise<boolean> {
    const devices = await this.#database.all("devices").catch(() => []);
    return devices.some(({ role }) => role === "write-only");
  }

  subscribe(listener: (event: CoreEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async unlock(by: Unlock): Promise<Session> {
    let asked = by;
    if (by.by === "link") {
      if (this.#link === null) throw failure("enrollment-malformed");
      asked = { ...by, by: "enrollment", line: this.#link, name: by.name ?? deviceName() };
    } else if (by.by === "enrollment") {
      asked = { ...by, line: lineIn(by.line), name: by.name ?? deviceName() };
    }
    const session = await this.#line.ask<Unwarned>("unlock", asked).catch((error: unknown) => {
      if (asked.by === "enrollment" && problemOf(error).code === "passphrase-needed") this.#link = asked.line;
      throw error;
    });
    if (asked.by === "enrollment") this.#link = null;
    this.#repository = session.repository.id;
    this.#idle.start();
    this.#tabs.join(this.#repository);
    await this.#askToKeep();
    return this.#warned(session);
  }

  async openLastKnown(passphrase: string): Promise<LastKnown> {
    const known = await this.#line.ask<LastKnown>("openLastKnown", passphrase);
    this.#idle.start();
    return known;
  }

  async session(): Promise<Session | null> {
    const session = await this.#line.ask<Unwarned | null>("session");
    return session && this.#warned(session);
  }

  lock(): Promise<void> {
    return this.#lock("asked");
  }

  touch(): void {
    const now = Date.now();
    if (now - this.#touched < 1_000) return;
    this.#touched = now;
    this.#idle.touch();
  }

  async pickFolder(): Promise<Folder | null> {
    const chosen = await pick();
    return chosen && this.#choose(chosen);
  }

  async folderFromInput(files: FileList): Promise<Folder> {
    return this.#choose(ofInput(files));
  }

  folderFromDrop(dropped: DataTransfer): Promise<Folder> {
    return ofDrop(dropped).then((chosen) => this.#choose(chosen));
  }

  async remembered(): Promise<RememberedFolder[]> {
    const rows = (await this.#database.all("folders")).filter(({ repository }) => repository === this.#repository);
    return Promise.all(
      rows.map(async ({ handle, repository: _, ...row }) => {
        const permission = await handle.queryPermission?.({ mode: "read" });
        return { ...row, automatic: row.automatic ?? false, permission: permission === "granted" ? ("granted" as const) : ("ask" as const) };
      }),
    );
  }

  async openRemembered(id: string): Promise<Folder> {
    const row = await this.#database.get("folders", id);
    if (!row) throw failure("folder-gone");
    if ((await row.handle.requestPermission({ mode: "read" })) !== "granted") throw failure("folder-permission");
    const folder: Folder = { id, name: row.name, label: row.label, via: "picker", canRemember: true, files: row.files, bytes: row.bytes, blindTo: BLIND_HANDLE };
    return this.#choose({ folder, origin: { via: "handle", name: row.name, handle: row.handle } });
  }

  async forgetRemembered(id: string): Promise<void> {
    await this.#database.remove("folders", id);
    this.#tell({ type: "changed", what: "remembered" });
  }

  async setAutomatic(id: string, automatic: boolean): Promise<void> {
    const row = await this.#database.change("folders", id, (row) => row && { ...row, automatic });
    if (!row) throw failure("folder-gone");
    this.#tell({ type: "changed", what: "remembered" });
  }

  async unfinished(): Promise<UnfinishedBackup[]> {
    const [rows, folders] = [await this.#database.all("unfinished"), await this.#database.all("folders")];
    const own = rows.filter(({ repository }) => repository === this.#repository).sort((a, b) => b.time - a.time);
    return own.map(({ id, name, label, excludes, time, bytes, repository }) => {
      const folder = folders.find((one) => one.repository === repository && one.label === label && one.name === name);
      return { id, name, label, excludes, time, safeBytes: bytes, folder: folder?.id ?? null };
    });
  }

  async forgetUnfinished(id: string): Promise<void> {
    await this.#database.remove("unfinished", id);
    this.#tell({ type: "changed", what: "remembered" });
  }

  async startBackup(options: BackupOptions): Promise<Run<BackupProgress, BackupResult>> {
    const chosen = this.#chosen.get(options.folder);
    if (!chosen) throw failure("folder-gone");
    const label = options.label.trim() || chosen.folder.label;
    const asked = { ...options, label };
    const { origin, handed, end } = await sendable(chosen);
    try {
      const run = await this.#line.begin<BackupProgress, BackupResult>("startBackup", handed, asked, origin, options.device?.trim() || deviceName());
      // Only a convenience: a backup does not fail for it.
      const remember = async (result: BackupResult | null) => { if (options.remember) await this.#remember(chosen, asked, result).catch(() => {}); };
      // At once: after a crash the folder is there to go on with.
      await remember(null);
      // Whoever leaves when a backup is said to be done finds it noted when the page is opened again.
      // A list is used up then: it lacks new files, and others may be in it as they were when they were chosen.
      const done = run.done.finally(end).then(async (result) => { if (chosen.origin.via === "list") this.#chosen.delete(chosen.folder.id); await remember(result); return result; });
      done.catch(() => {});
      return { ...through(run), done };
    } catch (error) {
      end();
      throw error;
    }
  }

  snapshots: Core["snapshots"] = () => this.#line.ask("snapshots");
  directory: Core["directory"] = (...args) => this.#line.ask("directory", ...args);
  search: Core["search"] = (...args) => this.#line.begin("search", [], ...args);
  seek: Core["seek"] = (...args) => this.#line.begin("seek", [], ...args);
  versions: Core["versions"] = (...args) => this.#line.begin("versions", [], ...args);
  preview: Core["preview"] = (...args) => this.#line.ask("preview", ...args);
  part: Core["part"] = (...args) => this.#part(...args).then(({ bytes }) => bytes);
  thumbnails: Core["thumbnails"] = (...args) => this.#line.ask("thumbnails", ...args);
  stream: Core["stream"] = (...args) => this.#streams.open(...args);
  compare: Core["compare"] = (...args) => this.#line.ask("compare", ...args);
  measure: Core["measure"] = (...args) => this.#line.ask("measure", ...args);

  forgotten: Core["forgotten"] = () => this.#line.ask("forgotten");
  guard: Core["guard"] = (...args) => this.#line.ask("administer", "guard", ...args);
  changeSnapshots: Core["changeSnapshots"] = (...args) => this.#line.ask("changeSnapshots", ...args);

  share: Core["share"] = (...args) => this.#line.begin("share", [], ...args);
  shares: Core["shares"] = () => this.#line.ask("shares");
  revokeShare: Core["revokeShare"] = (...args) => this.#line.ask("revokeShare", ...args);
  devices: Core["devices"] = () => this.#line.ask("devices");
  lastGood: Core["lastGood"] = (...args) => this.#line.ask("lastGood", ...args);
  renameDevice: Core["renameDevice"] = (...args) => this.#line.ask("renameDevice", ...args);
  revokeDevice: Core["revokeDevice"] = (...args) => this.#line.ask("revokeDevice", ...args);

  administer: Core["administer"] = (act, ...args) => this.#line.ask("administer", act, ...args) as never;

  async download(snapshot: string, entries: EntryId[], options: DownloadOptions): Promise<Run<RestoreProgress, RestoreResult>> {
    const asWhat = this.#line.ask<{ name: string; isZip: boolean }>("naming", snapshot, entries);
    let place: FileSystemFileHandle | null = null;
    if (options.askWhere) {
      const { name } = await asWhat;
      place = await showSaveFilePicker({ id: "copal-restore", suggestedName: name });
    }
    const { name, isZip } = await asWhat;
    const run = await this.#line.begin<RestoreProgress, Restored>("restore", [], snapshot, entries, place, isZip, name);
    return handedOver(run);
  }

  async restoreInto(snapshot: string, entries: EntryId[], decide: Decide): Promise<Run<RestoreProgress, RestoreResult> | null> {
    const picked = await pickTarget();
    if (picked === null) return null;
    const names = await alreadyIn(picked, await this.#line.ask<string[]>("tops", snapshot, entries));
    const choice = names.length === 0 ? "leave" : await decide({ folder: picked.name, names });
    if (choice === null) return null;
    const place = choice === "subfolder" ? await freeFolder(picked, new Date()) : picked;
    return this.#line.begin<RestoreProgress, RestoreResult>("restoreInto", [], snapshot, entries, place, choice === "subfolder" ? "leave" : choice);
  }

  status: Core["status"] = () => this.#line.ask("status");
  watched: Core["watched"] = () => this.#line.ask("watched");
  service: Core["service"] = () => this.#line.ask("service");
  growth: Core["growth"] = () => this.#line.begin("growth", []);
  orderJob: Core["orderJob"] = (job) => this.#line.ask("orderJob", job);

  settings(): Promise<Settings> {
    return this.#line.ask("settings");
  }

  async changeSettings(change: Partial<Settings>): Promise<Settings> {
    return (this.#settings = await this.#line.ask<Settings>("changeSettings", change));
  }

  /** The page's files first: a list that nothing could show would be kept for nothing. */
  async setOffline(isOn: boolean): Promise<Settings> {
    if (isOn) await import("./keep/page").then((page) => page.keepPage());
    const settings = await this.#line.ask<Settings>("setOffline", isOn).catch(async (error: unknown) => {
      // A kept page that nothing renews would be shown for ever.
      if (isOn && !this.#settings.offline) await this.#dropPage();
      throw error;
    });
    if (!isOn) await this.#dropPage();
    return (this.#settings = settings);
  }

  async forgetCaches(): Promise<void> {
    await this.#line.ask("forgetCaches");
    await this.#dropPage();
    this.#settings = await this.settings();
  }

  async forgetDevice(): Promise<void> {
    await this.#line.ask("forgetDevice");
    await this.#dropPage();
    await this.#lock("asked");
  }

  async #dropPage(): Promise<void> {
    if (await isPageKept()) await import("./keep/page").then((page) => page.dropPage(this.#streams.isOpen));
  }

  /** Without the browser's promise it may clear what a device needs to stay a device. It may ask the person first. */
  async #askToKeep(): Promise<void> {
    const { storage } = navigator;
    if (!storage?.persist) return;
    this.#isKept = await storage.persisted().catch(() => true);
    if (this.#isKept) return;
    void storage.persist().then(
      (isKept) => {
        this.#isKept = isKept;
        if (isKept) this.#tell({ type: "changed", what: "session" });
      },
      () => {},
    );
  }

  #warned(session: Unwarned): Session {
    return { ...session, warnings: session.client !== null && !this.#isKept ? [failure("storage-short-lived").problem] : [] };
  }

  async #lock(reason: "asked" | "idle"): Promise<void> {
    this.#idle.stop();
    this.#tabs.leave();
    this.#chosen.clear();
    this.#streams.forget();
    // It wipes what it can; whatever became of that, the worker's memory goes with it.
    await Promise.race([this.#line.ask("lock").catch(() => {}), new Promise((resolve) => setTimeout(resolve, 1_000))]);
    this.#line.restart();
    this.#tell({ type: "locked", reason });
  }

  /** A link may be opened in a page that is there already: no server is asked then, and nothing is loaded. */
  async #heedLink(): Promise<void> {
    const link = takeLink(location, history);
    if (link === null) return;
    this.#link = link;
    const enrollsAs = await this.#line.ask<Environment["enrollsAs"]>("enrollsAs", link).catch(() => null);
    this.#tell({ type: "enrollment", enrollsAs });
  }

  /** One choice at a time: the list of a large folder takes more memory than its backup. */
  #choose(chosen: Chosen): Folder {
    this.#chosen.clear();
    this.#chosen.set(chosen.folder.id, chosen);
    return chosen.folder;
  }

  async #remember({ folder, origin }: Chosen, options: BackupOptions, result: BackupResult | null): Promise<void> {
    if (origin.via !== "handle" || this.#repository === null) return;
    const repository = this.#repository;
    // A folder that is chosen anew keeps its row, and what a person set there meanwhile.
    let id = folder.id;
    for (const row of await this.#database.all("folders")) {
      const isSame = row.repository === repository && row.label === options.label && (await row.handle.isSameEntry(origin.handle));
      if (isSame) id = row.id;
    }
    await this.#database.change("folders", id, (last) => ({
      id, repository, name: folder.name, label: options.label, excludes: options.excludes, handle: origin.handle,
      lastBackup: result?.time ?? last?.lastBackup ?? null, files: result?.files ?? last?.files ?? null, bytes: result?.bytes ?? last?.bytes ?? null,
      automatic: last?.automatic ?? false,
    }));
    this.#tell({ type: "changed", what: "remembered" });
  }

  #tell(event: CoreEvent): void {
    if (event.type === "locked") {
      this.#idle.stop();
      this.#tabs.leave();
      this.#streams.forget();
    }
    for (const listener of this.#listeners) listener(event);
  }
}

/** Why the last known list may be shown instead of what the server would say. */
const AWAY = new Set<string>(["offline", "server-gone", "busy"]);
