//! Database: what this browser remembers of repositories in IndexedDB: keys as handles, folders, settings. Nothing in it
//! is secret in the clear.

import type { Settings } from "../api";

/** Ed25519; cannot be exported. */
export interface SigningKeys {
  manifest: CryptoKey;
  request: CryptoKey;
}

/** This browser as a client of a repository. */
export type Device =
  | {
      repository: string;
      role: "full";
      client: string;
      name: string;
      /** Sealed by the engine for the owner. */
      kept: Uint8Array;
      /** As of a write-only device. */
      signing: SigningKeys | null;
    }
  | {
      repository: string;
      role: "write-only";
      client: string;
      name: string;
      /** Sealed with `vault`. */
      kept: Uint8Array;
      iv: Uint8Array;
      /** AES-GCM; cannot be exported. */
      vault: CryptoKey;
      /** Null where the browser has no such keys: then the engine signs. */
      signing: SigningKeys | null;
      /** The record that makes it a client, until it is known to be stored. */
      pending: { key: string; bytes: Uint8Array } | null;
    };

/** What was seen of a repository: never again an older one, or another owner. */
export interface Seen {
  repository: string;
  owner: string;
  version: number;
  /** The newest change: nothing is signed on a chain that lacks it. */
  change?: { number: number; hash: string };
}

/** A folder that was backed up from here. */
export interface Remembered {
  id: string;
  repository: string;
  name: string;
  label: string;
  excludes: string[];
  handle: FileSystemDirectoryHandle;
  lastBackup: number | null;
  files: number | null;
  bytes: number | null;
  /** Absent in rows of earlier versions. */
  automatic?: boolean;
}

/** A run that has not come to its end. */
export interface Unfinished {
  id: string;
  repository: string;
  label: string;
  /** Of the folder. */
  name: string;
  excludes: string[];
  time: number;
  /** So many are safe. */
  bytes: number;
}

interface Tables {
  devices: Device;
  seen: Seen;
  folders: Remembered;
  unfinished: Unfinished;
  settings: { id: "settings" } & Settings;
}

const KEYS: Record<keyof Tables, string> = { devices: "repository", seen: "repository", folders: "id", unfinished: "id", settings: "id" };

/** The tables of this origin. */
export class Database {
  #open: Promise<IDBDatabase> | null = null;

  constructor(private readonly name = "copal") {}

  async get<T extends keyof Tables>(table: T, key: string): Promise<Tables[T] | null> {
    return (await this.#run<Tables[T] | undefined>(table, "readonly", (store) => store.get(key))) ?? null;
  }

  async all<T extends keyof Tables>(table: T): Promise<Tables[T][]> {
    return this.#run<Tables[T][]>(table, "readonly", (store) => store.getAll());
  }

  async put<T extends keyof Tables>(table: T, row: Tables[T]): Promise<void> {
    await this.#run(table, "readwrite", (store) => store.put(row));
  }

  /** Makes of the row that is there now what shall be there; nothing comes between. Null changes nothing. */
  async change<T extends keyof Tables>(table: T, key: string, change: (row: Tables[T] | null) => Tables[T] | null): Promise<Tables[T] | null> {
    let next: Tables[T] | null = null;
    await this.#run(table, "readwrite", (store) => {
      const asked = store.get(key) as IDBRequest<Tables[T] | undefined>;
      asked.onsuccess = () => {
        next = change(asked.result ?? null);
        if (next) store.put(next);
      };
      return asked;
    });
    return next;
  }

  async remove(table: keyof Tables, key: string): Promise<void> {
    await this.#run(table, "readwrite", (store) => store.delete(key));
  }

  async #run<R>(table: keyof Tables, mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest): Promise<R> {
    const transaction = await this.#begin(table, mode);
    return new Promise((resolve, reject) => {
      const request = work(transaction.objectStore(table));
      transaction.oncomplete = () => resolve(request.result as R);
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(transaction.error);
    });
  }

  async #begin(table: keyof Tables, mode: IDBTransactionMode): Promise<IDBTransaction> {
    try {
      return (await (this.#open ??= open(this.name))).transaction(table, mode, { durability: "strict" });
    } catch {
      // The browser closes it when a person clears what this site has stored, and may not tell in time.
      this.#open = null;
      return (await (this.#open = open(this.name))).transaction(table, mode, { durability: "strict" });
    }
  }
}

function open(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      for (const [table, keyPath] of Object.entries(KEYS)) request.result.createObjectStore(table, { keyPath });
    };
    request.onsuccess = () => {
      // A newer page in another tab may replace the tables.
      request.result.onversionchange = () => request.result.close();
      resolve(request.result);
    };
    request.onerror = () => reject(request.error);
  });
}

/** What holds until somebody says otherwise. */
export const DEFAULTS: Settings = { idleMinutes: 15, idleWarningSeconds: 60, workers: 0, compression: "balanced", theme: "system", language: "system", notify: false, readWarnings: [], folders: "list", staleDays: 7, offline: false, price: null, quietSeries: [] };

/** The settings as they are. */
export async function readSettings(database: Database): Promise<Settings> {
  const { id: _, ...kept } = { id: "settings", ...DEFAULTS, ...(await database.get("settings", "settings")) };
  return kept;
}

/** Changes some settings; nonsense is not taken. */
export async function changeSettings(database: Database, change: Partial<Settings>): Promise<Settings> {
  await database.change("settings", "settings", (row) => {
    const next = { ...DEFAULTS, ...row, ...change, id: "settings" as const };
    next.idleMinutes = within(next.idleMinutes, 0, 24 * 60, DEFAULTS.idleMinutes);
    next.idleWarningSeconds = within(next.idleWarningSeconds, 5, 600, DEFAULTS.idleWarningSeconds);
    next.staleDays = within(Math.round(next.staleDays), 0, 365, DEFAULTS.staleDays);
    next.price = next.price === null ? null : within(next.price, 0, 1_000, 0);
    next.workers = within(Math.round(next.workers), 0, 4, DEFAULTS.workers);
    return next;
  });
  return readSettings(database);
}

function within(value: number, least: number, most: number, otherwise: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(value, least), most) : otherwise;
}
