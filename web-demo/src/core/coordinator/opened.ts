//! Opened: a repository that was unlocked, as this device may use it.

import type { RepositoryFacts, Session } from "../api";
import { toHex } from "../digits";
import { Client, type Descriptor, Owner, type Read, View } from "../engine";
import { type Gateway, brief } from "../gateway/client";
import type { Patience } from "../gateway/retry";
import type { Database, Device } from "../keep/database";
import type { Private } from "../keep/private";
import type { Vault } from "../keep/sealed-list";
import { failure } from "../problem";
import { engineSigner, makeKeys, signWith, vaultSigner } from "./signing";

/** What is known of a repository before it is unlocked. */
export interface Known {
  facts: RepositoryFacts;
  descriptor: Descriptor;
  /** What the descriptor was read from: another module of the engine reads it anew. */
  source: { version: number; bytes: Uint8Array };
}

/** What says which objects it needs. */
type Asking = Pick<View, "needs" | "supply">;

/** An unlocked repository. */
export class Opened {
  private constructor(
    readonly known: Known,
    readonly gateway: Gateway,
    readonly database: Database,
    /** Objects that never change under their names. */
    private readonly cache: Private | null,
    /** Only full clients have it. */
    readonly owner: Owner | null,
    public client: Client | null,
    public device: Device | null,
  ) {}

  /** Where it was opened with the passphrase: what seals the last known list. */
  vault: Vault | null = null;
  /** The key slot that opened it; null where none did. */
  slot: string | null = null;

  /** Opened by the owner's secret; this browser may be a client already. */
  static async full(known: Known, gateway: Gateway, database: Database, cache: Private | null, owner: Owner): Promise<Opened> {
    const device = await database.get("devices", known.facts.id);
    const opened = new Opened(known, gateway, database, cache, owner, null, null);
    opened.#sign();
    if (device?.role === "full") {
      let client: Client | null = null;
      try {
        client = owner.resume(device.kept);
        client.check(known.descriptor, await records(gateway, device.client));
        [opened.client, opened.device] = [client, device];
      } catch (error) {
        client?.free();
        const code = (error as { code?: unknown }).code;
        if (code === "client-revoked") throw failure("device-revoked");
        // A client that the repository does not know is none any more; the owner opens the repository all the same.
        if (typeof code !== "string" || !NO_CLIENT.has(code)) throw error;
      }
    }
    opened.#sign();
    return opened;
  }

  /** A write-only device, with its own keys. */
  static writeOnly(known: Known, gateway: Gateway, database: Database, cache: Private | null, client: Client, device: Device): Opened {
    const opened = new Opened(known, gateway, database, cache, null, client, device);
    opened.#sign();
    return opened;
  }

  get session(): Omit<Session, "warnings"> {
    return {
      role: this.owner ? "full" : "write-only",
      repository: this.known.facts,
      client: this.client?.facts.client ?? null,
      deviceName: this.device?.name ?? null,
      keyInBrowserVault: this.client?.facts.hostSigns.requests ?? false,
    };
  }

  /** This browser as a client; a full one registers when it backs up for the first time. */
  async asClient(name: string): Promise<Client> {
    if (this.client) return this.client;
    const owner = this.owner;
    if (!owner) throw failure("locked");
    const random = crypto.getRandomValues(new Uint8Array(80));
    const keys = await makeKeys();
    const { client, record } = owner.register(this.known.descriptor, name, Date.now(), random, keys?.public ?? null);
    random.fill(0);
    const kept = client.keep(crypto.getRandomValues(new Uint8Array(16)));
    // A record without keys would be of no use to anybody.
    const device: Device = { repository: this.known.facts.id, role: "full", client: client.facts.client, name, kept, signing: keys?.signing ?? null };
    await this.database.put("devices", device);
    await this.gateway.create(brief(), record.key, record.bytes as Uint8Array<ArrayBuffer>);
    [this.client, this.device] = [client, device];
    this.#sign();
    return client;
  }

  /** Whether the repository still knows this client. */
  async checkClient(client: Client): Promise<void> {
    client.check(this.known.descriptor, await records(this.gateway, client.facts.client));
  }

  /** Signs manifests and changes where WebCrypto holds that key. */
  get manifestSigner(): ((message: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>) | null {
    const key = this.device?.signing?.manifest;
    return key ? (message) => signWith(key, message) : null;
  }

  /** The newest state, for whoever asks alone: one that is being read anew tells nothing. */
  async openView(patience: Patience = brief()): Promise<View> {
    const domain = () => this.client?.facts.domain ?? this.known.descriptor.facts.sharedDomain;
    return this.readNewest((root) => new View(root, [domain()]), patience, (asked) => this.#clean(asked));
  }

  /** Reads what the newest root names into what `make` makes of it. */
  async readNewest<Read extends Asking & { free(): void }>(make: (root: string | null) => Read, patience: Patience, then: (asked: string[]) => Promise<void> = async () => {}): Promise<Read> {
    for (let left = NEWER; ; left--) {
      const view = make(await this.gateway.newestRoot(patience));
      try {
        await then(await this.supply(view, patience));
      } catch (error) {
        view.free();
        // What a root named is gone: there is a newer one.
        if ((error as { code?: unknown }).code !== "root-gone" || left <= 1) throw error;
        continue;
      }
      return view;
    }
  }

  /** Lets a view follow the repository to its newest root, where what a prune has moved lies now. */
  async follow(view: View, patience: Patience): Promise<void> {
    for (let left = NEWER; ; left--) {
      const newer = view.newer(await this.gateway.newestRoot(patience));
      if (!newer) return;
      try {
        do await this.supply(newer, patience);
        while (!view.replace(newer));
        return;
      } catch (error) {
        if ((error as { code?: unknown }).code !== "root-gone" || left <= 1) throw error;
      } finally {
        newer.free();
      }
    }
  }

  /** Reads what a view asks for, until it asks for nothing any more; gives the names of what it asked for. */
  async supply(view: Asking, patience: Patience): Promise<string[]> {
    const asked: string[] = [];
    for (let needs = view.needs(); needs.length > 0; needs = view.needs()) {
      asked.push(...needs.map(({ key }) => key));
      await fetchAll(needs, async (read) => view.supply(read.key, await this.#cached(patience, read)));
    }
    return asked;
  }

  /** Reads a part of an object; null if there is no such object. */
  async read(patience: Patience, read: Read): Promise<Uint8Array<ArrayBuffer> | null> {
    const { key, start, end } = read;
    return this.gateway.read(patience, key, end === null || end === undefined ? null : [start, end - 1]);
  }

  free(): void {
    this.gateway.signWith(null);
    this.client?.free();
    this.owner?.free();
  }

  /** Objects of the state and the index are kept, sealed by their names. */
  async #cached(patience: Patience, read: Read): Promise<Uint8Array<ArrayBuffer> | null> {
    const isLasting = read.end === null && (read.key.startsWith("index/") || read.key.startsWith("state/"));
    if (!isLasting || !this.cache) return this.read(patience, read);
    const kept = await this.cache.read(read.key).catch(() => null);
    // One that was cut short is read anew; any other damage the engine finds, and forgets it.
    if (kept && kept.length > 0 && (await isWhole(read.key, kept))) return kept;
    const bytes = await this.read(patience, read);
    if (bytes) await this.cache.write(read.key, bytes).catch(() => {});
    return bytes;
  }

  async #clean(live: string[]): Promise<void> {
    const names = new Set(live);
    for (const name of (await this.cache?.list().catch(() => [])) ?? []) {
      if (!names.has(name)) await this.cache?.remove(name);
    }
  }

  #sign(): void {
    const { client, device, owner } = this;
    const key = device?.signing?.request;
    if (client && key) this.gateway.signWith(vaultSigner((request) => client.unsignedRequest(request), key));
    else if (client) this.gateway.signWith(engineSigner((request) => client.signRequest(request)));
    else if (owner) this.gateway.signWith(engineSigner((request) => owner.signRequest(request)));
  }
}

/** All versions of a client's record, each in both of its copies, the first one first. */
export async function records(gateway: Gateway, client: string): Promise<[number, Uint8Array][]> {
  const listed = await gateway.list(brief(), `clients/${client}/`);
  const read = listed.map(async ({ key }): Promise<[number, Uint8Array] | null> => {
    const version = /\/(\d{20})(\.b)?$/.exec(key)?.[1];
    const bytes = version ? await gateway.read(brief(), key) : null;
    return bytes && [Number(version), bytes];
  });
  return (await Promise.all(read)).filter((one) => one !== null);
}

/** Does something for each, a few at once. */
export async function fetchAll<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < items.length) await work(items[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(LANES, items.length) }, lane));
}

/** Whether an object is the one that its name says. */
async function isWhole(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return key.endsWith(toHex(digest));
}

/** What the engine says of a client that was lost, on either side. */
const NO_CLIENT = new Set(["client-unknown", "client-damaged", "kept-damaged"]);
/** Requests at once. */
const LANES = 6;
/** Roots that may be replaced while they are read. */
const NEWER = 5;
