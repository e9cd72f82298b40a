//! Label: what a share is called in the owner's lists, sealed so that all of the owner's browsers read it and the server does not.

import type { Owner } from "../engine";
import { fromBase64, toBase64 } from "../gateway/client";
import { hkdf } from "./keys";

/** The key of all labels. It follows from an Ed25519 signature, which is always the same for one text (RFC 8032) and which only the
 * owner's secret makes. The text is a request that expired in 1970 to an address that no gateway has; the signature goes nowhere. */
export async function labelKey(owner: Owner): Promise<CryptoKey> {
  const { signature } = owner.signRequest({ method: "LABEL", url: "urn:copal:share-labels", sha256: new Uint8Array(32), created: 0, expires: 0, nonce: new Uint8Array(16) });
  const base = await crypto.subtle.importKey("raw", new TextEncoder().encode(signature), "HKDF", false, ["deriveKey"]);
  return crypto.subtle.deriveKey(hkdf("share-label"), base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}

/** Seals a label for the share of this id. */
export async function sealLabel(key: CryptoKey, id: string, label: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const text = new TextEncoder().encode(label.slice(0, LABEL_MOST));
  const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData: new TextEncoder().encode(id) }, key, text));
  return toBase64(Uint8Array.of(...iv, ...sealed));
}

/** Opens a label; null if it is not one of this share. */
export async function openLabel(key: CryptoKey, id: string, sealed: string): Promise<string | null> {
  try {
    const bytes = fromBase64(sealed);
    const iv = bytes.subarray(0, 12);
    const opened = await crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData: new TextEncoder().encode(id) }, key, bytes.subarray(12));
    return new TextDecoder().decode(opened);
  } catch {
    return null;
  }
}

/** Characters of a label at most. */
const LABEL_MOST = 400;
