//! Devices: the clients of the repository, as the owner's secret shows them, and what only that secret signs about them.

import type { Device, LastGood } from "../api";
import { toHex } from "../digits";
import { type DeviceFacts, type NextRecord, receipt } from "../engine";
import { type Gateway, brief } from "../gateway/client";
import { failure } from "../problem";
import type { Books } from "../restore/books";
import { type Opened, fetchAll, records } from "./opened";
import { engineSigner } from "./signing";

/** All devices: those that count, the newest backup first, then those that were revoked. */
export async function devices(site: Opened, books: Books): Promise<Device[]> {
  const { owner } = site;
  if (!owner) throw failure("not-permitted");
  const { snapshots } = await books.snapshots();
  const found: Device[] = [];
  await fetchAll(await clients(site.gateway), async (client) => {
    const own = snapshots.filter(({ series }) => series.startsWith(`${client}/`));
    const last = own[0] ? { time: own[0].time, source: own[0].source } : null;
    const rest = { client, isThis: client === site.client?.facts.client, snapshots: own.length, last };
    const facts = believed(site, client, await records(site.gateway, client));
    found.push(facts ? { ...rest, name: facts.name ?? null, role: facts.role, state: stateOf(facts), since: facts.since, expires: facts.expires, isWhole: facts.isWhole } : { ...rest, name: null, role: null, state: "damaged", since: null, expires: null, isWhole: false });
  });
  const rank = ({ state, last, since }: Device): number => (state === "revoked" ? 0 : 1e15) + (last?.time ?? since ?? 0);
  return found.sort((a, b) => rank(b) - rank(a));
}

/** What the records say of all devices; null where one cannot be believed. */
export async function known(site: Opened): Promise<(DeviceFacts | null)[]> {
  const found: (DeviceFacts | null)[] = [];
  await fetchAll(await clients(site.gateway), async (client) => void found.push(believed(site, client, await records(site.gateway, client))));
  return found;
}

/** The last backup step of a device that the service has accepted. Behind many rejected ones it is that of the newest snapshot or
 * checkpoint; null if there is none. */
export async function lastGood(site: Opened, client: string): Promise<LastGood | null> {
  const view = await site.openView();
  const head = view.head(client);
  const [newest] = view.snapshots().filter((state) => state.client === client).sort((a, b) => b.number - a.number);
  view.free();
  if (!head) return null;
  if (head.accepted) return { ...head.accepted, time: head.time };
  // The state tells of the newest decisions only.
  for (let number = head.number; number > Math.max(head.number - LOOK_BACK, 0); number--) {
    const bytes = await site.gateway.receipt(brief(), client, number);
    const facts = bytes && receipt(client, number, bytes);
    if (facts?.outcome === "accepted") return { number, hash: facts.manifest, time: facts.time };
  }
  // Whoever has the device's request key alone can add rejected steps without end, and no snapshot.
  if (!newest) return null;
  const key = `manifests/${client}/${String(newest.number).padStart(20, "0")}`;
  const manifest = await site.gateway.read(brief(), key);
  const hash = manifest && toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", manifest)));
  // A snapshot's id is the beginning of this hash (docs/format.md, section 5.3).
  if (!hash?.startsWith(newest.id)) throw failure("damaged", key);
  return { number: newest.number, hash, time: newest.accepted };
}

/** Gives a device another name. */
export async function rename(site: Opened, client: string, name: string): Promise<void> {
  await sign(site, client, (owner, versions, now) => owner.rename(site.known.descriptor, client, versions, name, now));
}

/** Revokes a device: what it signs behind what `good` names counts no more. */
export async function revoke(site: Opened, client: string, good: LastGood | null): Promise<void> {
  const { gateway } = site;
  const view = await site.openView();
  const head = view.root?.change ?? null;
  view.free();
  const met = (await site.database.get("seen", site.known.facts.id))?.change;
  if (met && (head?.number ?? 0) < met.number) throw failure("state-older");
  const read = async (what: { number: number; hash: string } | null, key: string) => {
    if (!what) return null;
    const bytes = await gateway.read(brief(), `${key}/${String(what.number).padStart(20, "0")}`);
    if (!bytes) throw failure("damaged", key);
    return { ...what, bytes };
  };
  const manifest = await read(good, `manifests/${client}`);
  const change = await read(head, "changes");
  await sign(site, client, (owner, versions, now) => owner.revoke(site.known.descriptor, client, versions, manifest, change, now));
}

/** Creates the next version of a record, which the owner signs. If another came meanwhile, it is made anew. */
async function sign(site: Opened, client: string, make: (owner: NonNullable<Opened["owner"]>, versions: [number, Uint8Array][], now: number) => NextRecord): Promise<void> {
  const { owner } = site;
  if (!owner) throw failure("not-permitted");
  const gateway = site.gateway.as(engineSigner((request) => owner.signRequest(request)));
  for (let left = TRIES; left > 0; left--) {
    const now = Number((await gateway.time(brief())) / 1_000_000n);
    const { keys, bytes } = make(owner, await records(site.gateway, client), now);
    if (!(await gateway.create(brief(), keys[0]!, bytes as Uint8Array<ArrayBuffer>))) continue;
    // It counts with one copy already; a check misses the other one.
    await gateway.create(brief(), keys[1]!, bytes as Uint8Array<ArrayBuffer>).catch(() => false);
    return;
  }
  throw failure("busy");
}

function believed(site: Opened, client: string, versions: [number, Uint8Array][]): DeviceFacts | null {
  try {
    return site.owner!.device(site.known.descriptor, client, versions);
  } catch {
    return null;
  }
}

function stateOf(facts: DeviceFacts): Device["state"] {
  if (facts.revoked !== null) return "revoked";
  return facts.hasJoined ? "joined" : "invited";
}

/** The ids of all devices. */
export async function clients(gateway: Gateway): Promise<string[]> {
  const listed = await gateway.list(brief(), "clients/");
  return [...new Set(listed.map(({ key }) => key.split("/")[1]!))];
}

/** Other writers of the same record that are let go first. */
const TRIES = 8;
/** The most steps of a device whose receipts are read, as in the command. */
const LOOK_BACK = 64;
