//! Keys: everything of a share follows from the key in its link (docs/format.md, section 2.3).

import { fromHex, toHex } from "../digits";

/** What follows from a link's key. */
export interface ShareKeys {
  /** Names the share: 32 hexadecimal digits. */
  id: string;
  /** Opens it, in hexadecimal. The server keeps only its hash. */
  token: string;
  content: CryptoKey;
  list: CryptoKey;
}

export async function deriveKeys(key: Uint8Array<ArrayBuffer>): Promise<ShareKeys> {
  if (key.length !== KEY) throw new RangeError("a share's key has 32 bytes");
  const base = await crypto.subtle.importKey("raw", key, "HKDF", false, ["deriveBits", "deriveKey"]);
  const bits = async (label: string, length: number) => toHex(new Uint8Array(await crypto.subtle.deriveBits(hkdf(label), base, 8 * length)));
  const sealing = (label: string) => crypto.subtle.deriveKey(hkdf(label), base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
  const [id, token, content, list] = await Promise.all([bits("share-id", 16), bits("share-token", 32), sealing("share-content"), sealing("share-list")]);
  return { id, token, content, list };
}

/** The SHA-256 of a token, which the terms name. */
export async function tokenHash(token: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", fromHex(token))));
}

/** The link with a key. What stands behind `#` no browser sends to a server. */
export function linkOf(origin: string, key: Uint8Array<ArrayBuffer>): string {
  const digits = btoa(String.fromCharCode(...key)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${origin}/share#${digits}`;
}

/** The key in what stands behind `#`; null if that is none. */
export function keyIn(hash: string): Uint8Array<ArrayBuffer> | null {
  const digits = hash.replace(/^#/, "");
  if (!/^[A-Za-z0-9_-]{43}$/.test(digits)) return null;
  const bytes = Uint8Array.from(atob(`${digits.replaceAll("-", "+").replaceAll("_", "/")}=`), (sign) => sign.charCodeAt(0));
  return bytes.length === KEY ? bytes : null;
}

/** HKDF-SHA-256 without salt, for one use. */
export function hkdf(label: string): HkdfParams {
  return { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: new TextEncoder().encode(`copal/1 ${label}\0`) };
}

const KEY = 32;
