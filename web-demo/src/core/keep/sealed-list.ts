//! Sealed list: the last known list of snapshots, for a page without a network. It opens with the passphrase alone, through the copy of
//! a key slot: so it tells a thief of this computer no more than a guess at the passphrase would.

import type { SnapshotList } from "../api";
import { fromBase64, toBase64 } from "../gateway/client";
import type { Private } from "./private";

/** What seals the list: known from a passphrase to a lock. */
export interface Vault {
  /** Says how the passphrase is stretched. */
  slot: Uint8Array;
  /** AES-GCM; cannot be exported. */
  key: CryptoKey;
}

/** What is kept, as far as it can be read without the passphrase. */
export interface Kept {
  repository: string;
  /** When the server told the list. */
  time: number;
  slot: Uint8Array<ArrayBuffer>;
  iv: Uint8Array<ArrayBuffer>;
  sealed: Uint8Array<ArrayBuffer>;
}

/** Derives what seals from a passphrase that was stretched for a slot. The slot's own key stays another one. */
export async function vaultOf(slot: Uint8Array, stretched: Uint8Array): Promise<Vault> {
  const base = await crypto.subtle.importKey("raw", stretched as Uint8Array<ArrayBuffer>, "HKDF", false, ["deriveKey"]);
  const how = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8("copal page: list of snapshots 1") };
  return { slot: slot.slice(), key: await crypto.subtle.deriveKey(how, base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]) };
}

/** Keeps a list in the place of the one before. */
export async function keepList(files: Private, vault: Vault, repository: string, list: SnapshotList, time: number): Promise<void> {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const cipher = { name: "AES-GCM", iv, additionalData: context(repository, time) };
  const sealed = new Uint8Array(await crypto.subtle.encrypt(cipher, vault.key, utf8(JSON.stringify(list))));
  const head = utf8(`${JSON.stringify({ version: VERSION, repository, time, slot: toBase64(vault.slot), iv: toBase64(iv) })}\n`);
  const whole = new Uint8Array(head.length + sealed.length);
  whole.set(head);
  whole.set(sealed, head.length);
  await files.write(NAME, whole);
}

/** What is kept; null if nothing is, or it cannot be read. */
export async function readKept(files: Private): Promise<Kept | null> {
  try {
    const bytes = await files.read(NAME);
    if (!bytes) return null;
    const end = bytes.indexOf("\n".charCodeAt(0));
    const { version, repository, time, slot, iv } = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))) as Record<string, unknown>;
    if (version !== VERSION || typeof repository !== "string" || typeof time !== "number") return null;
    return { repository, time, slot: fromBase64(String(slot)), iv: fromBase64(String(iv)), sealed: bytes.slice(end + 1) };
  } catch {
    return null;
  }
}

/** Opens a list; null with another passphrase than it was kept under. */
export async function openKept({ repository, time, iv, sealed }: Kept, { key }: Vault): Promise<SnapshotList | null> {
  const cipher = { name: "AES-GCM", iv, additionalData: context(repository, time) };
  const plain = await crypto.subtle.decrypt(cipher, key, sealed).catch(() => null);
  return plain && (JSON.parse(new TextDecoder().decode(plain)) as SnapshotList);
}

export async function removeKept(files: Private): Promise<void> {
  await files.remove(NAME);
}

function context(repository: string, time: number): Uint8Array<ArrayBuffer> {
  return utf8(`copal page: list of snapshots 1\n${repository}\n${time}`);
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;
}

const NAME = "list";
const VERSION = 1;
