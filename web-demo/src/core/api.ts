//! The interface between the page's core (workers, gateway, engine) and its display.
//
// Rules: every promise that fails rejects with a CopalError. All values are plain data (structured clone), so a
// scripted Core for tests is an object literal. Times are milliseconds since 1970, sizes bytes, both `number`.
// Paths are text with `/` between names, relative to what was backed up, "" is the top. A path that is not UTF-8 in the
// repository is shown with U+FFFD and identified by `id`, so hand `id` back, never the shown path.

import type {
  Changed, ComparePage, DirectoryPage, DownloadOptions, EntryId, Found, Guard, Measure, OntoExisting, Preview, RestoreProgress, RestoreResult,
  SearchProgress, SearchResult, Seek, SeekProgress, SeekResult, SnapshotList, Stream, Thumbnail, Versions, Wish,
} from "./snapshots";
import type { Act, Acts, AdministrationCode } from "./administration";
import type { BackupOptions, BackupProgress, BackupResult, Folder, RememberedFolder, UnfinishedBackup } from "./backups";
import type { Device, LastGood } from "./devices";
import type { Findings } from "./findings";
import type { Growth, GrowthProgress } from "./growth";
import type { OrderedJob, Service, Watched } from "./service";
import type { LastKnown, Settings } from "./settings";
import type { Share, ShareProgress, ShareResult, ShareTerms } from "./shares";

export type * from "./administration";
export type * from "./backups";
export type * from "./devices";
export type * from "./findings";
export type * from "./growth";
export type * from "./keeping";
export type * from "./service";
export type * from "./settings";
export type * from "./shares";
export type * from "./snapshots";

/** Everything the display may ask of the core. One object for the page's life: `const core = await connect()`. */
export interface Core {
  /** What this browser can do and what the server says; asked once at start and again by `retry`. No secret needed. `early`
   * hears what this browser knows by itself, if a passphrase is what it will be opened with. */
  environment(early?: (environment: Environment) => void): Promise<Environment>;
  /** Calls `listener` for everything that happens by itself; returns the function that ends it. */
  subscribe(listener: (event: CoreEvent) => void): () => void;

  // ---- unlocking
  /** Opens with a passphrase or recovery code (full client): Argon2id takes about a second. */
  unlock(secret: Unlock): Promise<Session>;
  /** Opens the last known list while the server is away: nothing but the list, until the page locks. */
  openLastKnown(passphrase: string): Promise<LastKnown>;
  /** The session, or null while locked. */
  session(): Promise<Session | null>;
  /** Forgets every secret at once: workers end, caches stay (they are sealed or hold no secret). */
  lock(): Promise<void>;
  /** The person did something: starts the idle time anew. Cheap; call on pointer and key events (throttled inside). */
  touch(): void;

  // ---- what is backed up
  /** Asks for a directory; null if the person changed their mind. Only where `environment.canPickFolder`; in a gesture. */
  pickFolder(): Promise<Folder | null>;
  /** From `<input type=file webkitdirectory multiple>` or `<input type=file multiple>`. */
  folderFromInput(files: FileList): Promise<Folder>;
  /** From a drop event: call synchronously in the handler (the browser empties it afterwards). */
  folderFromDrop(dropped: DataTransfer): Promise<Folder>;
  /** Folders of earlier backups whose handle the browser kept. */
  remembered(): Promise<RememberedFolder[]>;
  /** Opens one again; the browser may ask for permission, so in a gesture. */
  openRemembered(id: string): Promise<Folder>;
  forgetRemembered(id: string): Promise<void>;
  /** Whether the display is to back it up by itself when the page is opened. */
  setAutomatic(id: string, automatic: boolean): Promise<void>;
  /** Backups of this browser that did not come to their end, the newest first. */
  unfinished(): Promise<UnfinishedBackup[]>;
  /** Does not offer it any more; what is safe of it stays so. */
  forgetUnfinished(id: string): Promise<void>;

  // ---- backing up: one run at a time
  startBackup(options: BackupOptions): Promise<Run<BackupProgress, BackupResult>>;

  // ---- restoring: only where session.role is "full"
  /** Newest first. Damaged manifests are left out and counted in `damage`. */
  snapshots(): Promise<SnapshotList>;
  /** A page of a directory, in the order of the tree, which is by the names' UTF-8 bytes. `limit` up to 2,000. */
  directory(snapshot: string, directory: EntryId, after: string | null, limit: number): Promise<DirectoryPage>;
  /** Names that contain `text` or are like it (`*` and `?`), case-insensitive, anywhere below `directory`. Hits come as they are
   * found. */
  search(snapshot: string, directory: EntryId, text: string): Promise<Run<SearchProgress, SearchResult>>;
  /** The same in all snapshots of a series, or in all there are, and by more than the name. */
  seek(asked: Seek): Promise<Run<SeekProgress, SeekResult>>;
  /** What stands at an entry's path in the snapshots of this one's series; with `isWide` in those of all series. */
  versions(snapshot: string, entry: EntryId, isWide: boolean): Promise<Run<Versions, Versions>>;
  /** What is worth showing of a file, verified: of at most `limit` bytes, and at most 16 MiB. */
  preview(snapshot: string, file: EntryId, limit: number): Promise<Preview>;
  /** Bytes of a file from `start` up to `end`, at most 16 MiB, verified. */
  part(snapshot: string, file: EntryId, start: number, end: number): Promise<Uint8Array>;
  /** Small pictures of files, in their order; of the first 16. */
  thumbnails(snapshot: string, files: EntryId[]): Promise<Thumbnail[]>;
  /** Lets a player of this page read a file piece by piece. Fails with "unsupported" where the browser cannot do that. */
  stream(snapshot: string, file: EntryId, mediaType: string): Promise<Stream>;
  /** What differs from `before` to `after`, page by page (`cursor` from the page before, null first). */
  compare(before: string, after: string, cursor: string | null, limit: number): Promise<ComparePage>;
  /** What `download` and `restoreInto` would write. */
  measure(snapshot: string, entries: EntryId[]): Promise<Measure>;
  /** One file as itself, anything else as a zip. Call in a gesture: with `askWhere` the browser's save dialog comes. */
  download(snapshot: string, entries: EntryId[], options: DownloadOptions): Promise<Run<RestoreProgress, RestoreResult>>;
  /** Asks for a directory and writes into it. If something of what is restored is there already, `decide` says what is done;
   * null: nothing. What is left out because of it is named in the result. */
  restoreInto(snapshot: string, entries: EntryId[], decide: Decide): Promise<Run<RestoreProgress, RestoreResult> | null>;

  // ---- changing snapshots: only where session.role is "full"
  /** Those that were forgotten and whose data is still there, newest first. */
  forgotten(): Promise<SnapshotList>;
  /** What the policy says about these snapshots if they are forgotten. */
  guard(snapshots: string[]): Promise<Guard>;
  /** Signs and stores it, and waits for the service to take it in. `device`: what this browser is called from now on, where it is no
   * device yet; fails as a backup does. */
  changeSnapshots(wish: Wish, device: string | null): Promise<Changed>;

  // ---- shares: only where session.role is "full"
  /** Copies entries, sealed anew, to where a link opens them. At most 4 GiB and 50,000 entries. */
  share(snapshot: string, entries: EntryId[], terms: ShareTerms): Promise<Run<ShareProgress, ShareResult>>;
  shares(): Promise<Share[]>;
  /** The link opens nothing from now on. */
  revokeShare(id: string): Promise<void>;

  // ---- devices: only where session.role is "full"
  devices(): Promise<Device[]>;
  /** What a revocation of this device would name; null if nothing that it signed was accepted. */
  lastGood(client: string): Promise<LastGood | null>;
  renameDevice(client: string, name: string): Promise<void>;
  /** Nothing counts any more that the device signs behind `good`. */
  revokeDevice(client: string, good: LastGood | null): Promise<void>;

  // ---- administration: only where session.role is "full"
  /** Has something done about the repository itself; what can do it is loaded when it is asked for first. */
  administer<Name extends Act>(act: Name, ...args: Parameters<Acts[Name]>): ReturnType<Acts[Name]>;

  // ---- status and settings
  status(): Promise<Status>;
  /** What tells, in few requests, whether something needs a person. */
  watched(): Promise<Watched>;
  service(): Promise<Service>;
  /** What each device has added. The first time it reads every manifest there is. */
  growth(): Promise<Run<GrowthProgress, Growth>>;
  /** Has the service run one of the jobs of its schedule now, as it would by itself; it answers before the job begins. Fails with
   * "job-running", "job-rested" or "not-here". */
  orderJob(job: OrderedJob): Promise<void>;
  settings(): Promise<Settings>;
  changeSettings(change: Partial<Settings>): Promise<Settings>;
  /** Keeps, or keeps no more, the page and the last known list of snapshots for visits without a network. Fails with
   * "passphrase-needed" where the session was not opened with the passphrase. */
  setOffline(isOn: boolean): Promise<Settings>;
  /** Deletes what this browser keeps of the repository (kept trees, index, remembered folders), not the device's keys. */
  forgetCaches(): Promise<void>;
  /** Deletes the device's keys too: this browser is no client any more (the owner still lists it until it is revoked). */
  forgetDevice(): Promise<void>;
}

/** Asks the person what is to become of what is there. */
export type Decide = (found: Found) => Promise<OntoExisting | null>;

export interface Environment {
  /** What is missing for the page to work at all; empty is good. */
  missing: MissingFeature[];
  /** A directory picker with handles that can be remembered (Chromium). */
  canPickFolder: boolean;
  /** A save dialog to stream into (Chromium). */
  canAskWhere: boolean;
  /** Whether <input webkitdirectory> works. */
  canInputFolder: boolean;
  /** What the gateway says, or why it does not; "asking" until it has answered. */
  server: { state: "ready"; repository: RepositoryFacts } | { state: "unreachable" | "empty"; problem: Problem } | { state: "asking" };
  /** What this browser already is to this repository. "full" still needs the passphrase; "write-only" needs nothing. */
  device: { role: "none" | "full" | "write-only"; name: string | null };
  /** What this browser may be called where nobody has given it a name, such as "Firefox on Windows". */
  suggestedName: string;
  /** The page was opened by an enrollment link. It was taken out of the address and waits: `unlock({by: "link"})`. */
  hasEnrollmentLink: boolean;
  /** What the waiting enrollment makes of this browser; null where none waits, or it cannot be read. A full device needs the
   * passphrase too. */
  enrollsAs: "full" | "write-only" | null;
  /** Where the server is away: when it last told the list that this browser keeps; null: it keeps none. */
  lastKnown: { time: number } | null;
}
export type MissingFeature = "secure-context" | "webassembly" | "wasm-simd" | "workers" | "webcrypto" | "private-storage";

export interface RepositoryFacts {
  id: string;
  /** The owner's fingerprint in hexadecimal. */
  owner: string;
  /** Whether a passphrase alone suffices (the operator opened the key slots). */
  passphraseOpens: boolean;
}

export type Unlock =
  | { by: "passphrase"; passphrase: string }
  | { by: "recovery-code"; code: string }
  /** Pasted, a line or a whole link, or read from the address; `name` is what this device calls itself. One of a full device
   * fails with "passphrase-needed" without a passphrase, and waits then as a link does. */
  | { by: "enrollment"; line: string; name?: string; passphrase?: string }
  | { by: "link"; name?: string; passphrase?: string }
  /** An enrolled write-only device opens itself. */
  | { by: "device" };

export interface Session {
  role: "full" | "write-only";
  repository: RepositoryFacts;
  /** Client id in hexadecimal; null for a full client that has not backed up from here (it registers then). */
  client: string | null;
  deviceName: string | null;
  /** Whether the request key lies in WebCrypto, non-extractable. */
  keyInBrowserVault: boolean;
  warnings: Problem[];
}

/** A session as the coordinator knows it. */
export type Unwarned = Omit<Session, "warnings">;

export type CoreEvent =
  | { type: "locked"; reason: "asked" | "idle" | "failed"; problem?: Problem }
  /** Ends with "locked", or with null when the person did something. */
  | { type: "lock-soon"; secondsLeft: number | null }
  /** An enrollment link was opened while the page was there already. It was taken out of the address, as at the start. */
  | { type: "enrollment"; enrollsAs: Environment["enrollsAs"] }
  | { type: "network"; online: boolean }
  /** Receipts, checks or snapshots may have changed: ask again for what is shown. */
  | { type: "changed"; what: "snapshots" | "status" | "remembered" | "session" }
  /** Another tab of this browser has the repository open: only one of them can back up at a time. */
  | { type: "elsewhere"; held: boolean };

/** Something that takes time. `done` settles exactly once; after cancel it rejects with code "cancelled". */
export interface Run<Progress, Result> {
  /** Called at most 10 times a second, and once at once with the newest. Returns what ends it. */
  onProgress(listener: (progress: Progress) => void): () => void;
  done: Promise<Result>;
  pause(): void;
  resume(): void;
  /** What is uploaded stays usable: the next backup goes on from it. */
  cancel(): void;
}

// ---- status

export interface Status {
  /** Newest first; a write-only device sees its own manifests only. */
  receipts: { snapshot: string; time: number; source: string; state: "verified" | "waiting" | "rejected"; problem: Problem | null }[];
  lastCheck: { time: number; outcome: "sound" | "damage"; readBytes: number | null; findings: Findings[] } | null;
  /** Today: what all kept snapshots hold, what the newest of each series holds, and what the repository takes. Null where
   * this device may not know. */
  space: { sourceBytes: number; newestBytes: number; storedBytes: number } | null;
  /** Oldest first. */
  history: { time: number; storedBytes: number; sourceBytes: number | null }[];
  /** Unfinished work of this device that the next backup will go on from. */
  resumable: { label: string; time: number; bytes: number }[];
  /** Manifests of a running or interrupted backup of this device that wait to be verified. They are no backups. */
  unfinishedSteps: number;
}

// ---- errors

/** What happened; `words/problems.ts` tells it to a person. Never a secret, never an address with a query. */
export interface Problem {
  code: ProblemCode;
  /** A path, object or number that it is about. */
  subject: string | null;
  /** Worth pressing "try again". */
  canRetry: boolean;
}

export type ProblemCode =
  | "unsupported" // browser lacks something
  | "offline" | "server-gone" | "server-failed" | "part-gone" | "busy" | "clock-wrong"
  | "no-repository" | "slots-closed" | "slots-costly" | "other-owner" | "repository-damaged" | "repository-newer"
  | "passphrase-wrong" | "passphrase-empty" | "passphrase-needed" | "seal-needs-passphrase" | "code-malformed"
  | "enrollment-malformed" | "enrollment-used" | "enrollment-expired" | "enrollment-unknown" | "enrollment-elsewhere"
  | "name-taken" | "enrollment-unfinished" | "device-revoked" | "device-unknown" | "not-permitted"
  | "quota" | "server-full" | "browser-full"
  | "folder-gone" | "folder-permission" | "file-unreadable" | "nothing-to-back-up"
  | "job-running" | "job-rested" | "not-here"
  | "manifest-rejected" | "state-older" | "policy-changed" | "policy-malformed" | "tags-malformed" | "damaged" | "descriptions-too-long" | "snapshot-gone" | "entry-gone"
  | "share-too-large" | "shares-full" | "nothing-to-share" | "target-failed" | "cancelled" | "locked" | "elsewhere" | "storage-short-lived" | "internal"
  | AdministrationCode;

export interface CopalError extends Error { readonly problem: Problem }
