//! Unlock: from nothing to an opened repository, by a passphrase, a recovery code, an enrollment, or this device's own keys.

import type { RepositoryFacts, SnapshotList, Unlock } from "../api";
import { Client, Descriptor, Enrollment, Owner, unsignedRequest } from "../engine";
import { type Gateway, brief } from "../gateway/client";
import type { Database, Device } from "../keep/database";
import type { Private } from "../keep/private";
import { type Kept, type Vault, openKept, vaultOf } from "../keep/sealed-list";
import { failure, problemOf } from "../problem";
import type { Stretcher } from "../work/stretcher";
import { type Known, Opened, records } from "./opened";
import { engineSigner, makeKeys, vaultSigner } from "./signing";
import { type OpenSlot, byPassphrase, openSlot } from "./slots";

/** Asks the server what it serves, and remembers whose it is. */
export async function meet(gateway: Gateway, database: Database): Promise<Known> {
  const greeting = await gateway.greeting(brief());
  const descriptor = new Descriptor(greeting.version, greeting.descriptor);
  const { repository, owner } = descriptor.facts;
  const seen = await database.get("seen", repository);
  if (seen && seen.owner !== owner) throw failure("other-owner");
  if (seen && seen.version > greeting.version) throw failure("repository-damaged");
  // Also where the browser has no room for another word, what is known opens.
  if (seen?.version !== greeting.version) {
    await database.change("seen", repository, (seen) => ({ ...seen, repository, owner, version: Math.max(seen?.version ?? 0, greeting.version) }));
  }
  const facts: RepositoryFacts = { id: repository, owner, passphraseOpens: greeting.slots === "open" };
  return { facts, descriptor, source: { version: greeting.version, bytes: greeting.descriptor } };
}

/** Opens the repository. `stretcher` starts who stretches a passphrase. */
export async function unlock(by: Unlock, known: Known, gateway: Gateway, database: Database, cache: Private | null, stretcher: () => Stretcher): Promise<Opened> {
  switch (by.by) {
    case "passphrase":
      if (by.passphrase === "") throw failure("passphrase-empty");
      return sealing(by.passphrase, stretcher, (open) => byOwner(known, gateway, database, cache, open, "passphrase-wrong"));
    case "recovery-code":
      return byOwner(known, gateway, database, cache, async (slot) => Owner.openWithRecoveryCode(slot, by.code), "code-malformed");
    case "enrollment":
      return byEnrollment(by.line, by.name ?? "browser", by.passphrase ?? "", known, gateway, database, cache, stretcher);
    case "device":
      return byDevice(known, gateway, database, cache);
    case "link":
      throw failure("enrollment-malformed");
  }
}

/** Opens with a passphrase, which also makes what seals the last known list. */
async function sealing(passphrase: string, start: () => Stretcher, work: (open: OpenSlot<Owner>) => Promise<Opened>): Promise<Opened> {
  let vault: Vault | null = null;
  // Of the slots that are tried, the last one opens.
  const opened = await byPassphrase(Owner, passphrase, start, work, async (slot, key) => { vault = await vaultOf(slot, key); });
  opened.vault = vault;
  return opened;
}

/** Opens the last known list, without the server and without any key of the repository. */
export async function unlockKept(kept: Kept, passphrase: string, start: () => Stretcher): Promise<SnapshotList> {
  if (passphrase === "") throw failure("passphrase-empty");
  const stretcher = start();
  try {
    const stretched = await stretcher.stretch(kept.slot, passphrase);
    try {
      const list = await openKept(kept, await vaultOf(kept.slot, stretched));
      if (!list) throw failure("passphrase-wrong");
      return list;
    } finally {
      stretched.fill(0);
    }
  } finally {
    stretcher.end();
  }
}

async function byOwner(
  known: Known,
  gateway: Gateway,
  database: Database,
  cache: Private | null,
  open: OpenSlot<Owner>,
  wrong: "passphrase-wrong" | "code-malformed",
): Promise<Opened> {
  const device = await database.get("devices", known.facts.id);
  const key = device?.role === "full" ? device.signing?.request : null;
  if (!known.facts.passphraseOpens && !key) throw failure("slots-closed");
  // Of a device that it knows a gateway asks for a signature where anybody else gets nothing.
  gateway.signWith(known.facts.passphraseOpens || !device || !key ? null : vaultSigner((request) => unsignedRequest(device.client, request), key));
  let owner: Owner | null = null;
  try {
    const found = await openSlot(Owner, known.facts.id, gateway, open, wrong);
    owner = found.owner;
    owner.check(known.descriptor);
    return Object.assign(await Opened.full(known, gateway, database, cache, owner), { slot: found.slot });
  } catch (error) {
    owner?.free();
    gateway.signWith(null);
    throw error;
  }
}

/** What an enrollment makes of this browser; null if it cannot be read. */
export function roleOf(line: string): "full" | "write-only" | null {
  try {
    const enrollment = Enrollment.parse(line);
    const { role } = enrollment.facts;
    enrollment.free();
    return role;
  } catch {
    return null;
  }
}

/** Joins. The keys are kept before the record is written, so that a run that was interrupted is finished by the next one. */
async function byEnrollment(
  line: string,
  name: string,
  passphrase: string,
  known: Known,
  gateway: Gateway,
  database: Database,
  cache: Private | null,
  stretcher: () => Stretcher,
): Promise<Opened> {
  const enrollment = Enrollment.parse(line);
  try {
    const { repository, owner, client: id, role, expires } = enrollment.facts;
    if (repository !== known.facts.id || owner !== known.facts.owner) throw failure("enrollment-elsewhere");
    const before = await database.get("devices", repository);
    // Who has joined with it may open it again. The gateway refuses everybody else too.
    if (before?.client !== id && expires < gateway.now()) throw failure("enrollment-expired");
    if (role === "full") {
      if (passphrase === "") throw failure("passphrase-needed");
      return await sealing(passphrase, stretcher, (open) => joinFull(enrollment, open, name, known, gateway, database, cache));
    }
    gateway.signWith(engineSigner((request) => enrollment.signRequest(request)));
    if (before?.role === "write-only" && before.client === id) {
      return await joined(known, gateway, database, cache, await resumed(before), before);
    }
    const keys = await makeKeys();
    const random = crypto.getRandomValues(new Uint8Array(96));
    const { client, record } = enrollment.join(known.descriptor, await records(gateway, id), gateway.now(), random, keys?.public ?? null);
    random.fill(0);
    const { kept, iv, vault } = await sealed(client);
    const bytes = record.bytes as Uint8Array<ArrayBuffer>;
    const device: WriteOnly = {
      repository, role: "write-only", client: id, name, kept, iv, vault,
      signing: keys?.signing ?? null,
      pending: { key: record.key, bytes },
    };
    await database.put("devices", device);
    return await joined(known, gateway, database, cache, client, device);
  } catch (error) {
    if ((error as { code?: unknown }).code === "client-unknown") throw failure("enrollment-unknown");
    throw error;
  } finally {
    enrollment.free();
  }
}

/** Joins as a full client. The enrollment key lets it read the key slots where these are not open, and the passphrase shows
 * that it may. */
async function joinFull(enrollment: Enrollment, open: OpenSlot<Owner>, name: string, known: Known, gateway: Gateway, database: Database, cache: Private | null): Promise<Opened> {
  const { client: id } = enrollment.facts;
  const { id: repository, passphraseOpens } = known.facts;
  gateway.signWith(passphraseOpens ? null : engineSigner((request) => enrollment.signRequest(request)));
  let owner: Owner | null = null;
  try {
    const found = await openSlot(Owner, known.facts.id, gateway, open, "passphrase-wrong");
    owner = found.owner;
    owner.check(known.descriptor);
    const before = await database.get("devices", repository);
    gateway.signWith(engineSigner((request) => owner!.signRequest(request)));
    if (before?.role !== "full" || before.client !== id || !isKnown(owner, before.kept, known, await records(gateway, id))) {
      const random = crypto.getRandomValues(new Uint8Array(64));
      const keys = await makeKeys();
      const { client, record } = enrollment.joinFull(owner, known.descriptor, await records(gateway, id), gateway.now(), random, keys?.public ?? null);
      random.fill(0);
      const kept = client.keep(crypto.getRandomValues(new Uint8Array(16)));
      client.free();
      await database.put("devices", { repository, role: "full", client: id, name, kept, signing: keys?.signing ?? null });
      gateway.signWith(engineSigner((request) => enrollment.signRequest(request)));
      const isFirst = await gateway.create(brief(), record.key, record.bytes as Uint8Array<ArrayBuffer>);
      gateway.signWith(engineSigner((request) => owner!.signRequest(request)));
      if (!isFirst && !isKnown(owner, kept, known, await records(gateway, id))) {
        await database.remove("devices", repository);
        throw failure("enrollment-used");
      }
    }
    return Object.assign(await Opened.full(known, gateway, database, cache, owner), { slot: found.slot });
  } catch (error) {
    owner?.free();
    gateway.signWith(null);
    throw error;
  }
}

/** Whether the repository knows a full client by the keys that were kept of it. */
function isKnown(owner: Owner, kept: Uint8Array, known: Known, found: [number, Uint8Array][]): boolean {
  let client: Client | null = null;
  try {
    client = owner.resume(kept);
    client.check(known.descriptor, found);
    return true;
  } catch {
    return false;
  } finally {
    client?.free();
  }
}

/** Opens with what this device keeps. */
async function byDevice(known: Known, gateway: Gateway, database: Database, cache: Private | null): Promise<Opened> {
  const device = await database.get("devices", known.facts.id);
  if (device?.role !== "write-only") throw failure("device-unknown");
  gateway.signWith(null);
  return joined(known, gateway, database, cache, await resumed(device), device);
}

async function resumed(device: WriteOnly): Promise<Client> {
  const cipher = { name: "AES-GCM", iv: device.iv as Uint8Array<ArrayBuffer> };
  const plain = new Uint8Array(await crypto.subtle.decrypt(cipher, device.vault, device.kept as Uint8Array<ArrayBuffer>));
  try {
    return Client.resume(plain);
  } finally {
    plain.fill(0);
  }
}

/** Writes the record if that is still to be done, and looks whether the repository knows the device so. */
async function joined(known: Known, gateway: Gateway, database: Database, cache: Private | null, client: Client, device: WriteOnly): Promise<Opened> {
  const { pending, signing } = device;
  // Only who has the enrollment at hand can write the record.
  const isTried = pending !== null && gateway.isSigning;
  try {
    if (pending && isTried) {
      await gateway.create(brief(), pending.key, pending.bytes as Uint8Array<ArrayBuffer>).catch((error: unknown) => {
        // Written already, by this device or by another one: the record tells.
        if (!USED.has(problemOf(error).code)) throw error;
      });
    }
    gateway.signWith(signing ? vaultSigner((asked) => client.unsignedRequest(asked), signing.request) : engineSigner((asked) => client.signRequest(asked)));
    client.check(known.descriptor, await records(gateway, device.client));
  } catch (error) {
    client.free();
    gateway.signWith(null);
    if (pending && USED.has(problemOf(error).code)) {
      // Joining was interrupted before the record was written: with the enrollment it goes on.
      if (!isTried) throw failure("enrollment-unfinished");
      // Somebody was faster: what is kept here opens nothing.
      await database.remove("devices", device.repository);
      throw failure("enrollment-used");
    }
    // The record was not written in time, so what is kept here opens nothing.
    if (pending && problemOf(error).code === "enrollment-expired") await database.remove("devices", device.repository);
    throw error;
  }
  if (pending) {
    device.pending = null;
    await database.put("devices", device);
  }
  return Opened.writeOnly(known, gateway, database, cache, client, device);
}

type WriteOnly = Extract<Device, { role: "write-only" }>;

/** What a gateway or the engine says of a device whose enrollment somebody else has used. */
const USED = new Set(["enrollment-used", "device-unknown", "not-permitted"]);

/** What a device keeps, sealed with a key that cannot be taken out of the browser. */
async function sealed(client: Client): Promise<{ kept: Uint8Array; iv: Uint8Array; vault: CryptoKey }> {
  const vault = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const plain = client.keep(crypto.getRandomValues(new Uint8Array(16))) as Uint8Array<ArrayBuffer>;
  const kept = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, vault, plain));
  plain.fill(0);
  return { kept, iv, vault };
}
