//! Signing: whose key signs a request, whether the engine or the browser holds it.

import type { RequestToSign, SignedHeaders, UnsignedHeaders } from "../engine";
import { toBase64, type Signer } from "../gateway/client";
import type { SigningKeys } from "../keep/database";

/** Signs with whatever the engine holds. */
export function engineSigner(sign: (request: RequestToSign) => SignedHeaders): Signer {
  return {
    headers: async (request) => ({ ...plain(sign(terms(request))) }),
  };
}

/** Signs with a key of WebCrypto, which nobody can take out of it. */
export function vaultSigner(prepare: (request: RequestToSign) => UnsignedHeaders, key: CryptoKey): Signer {
  return {
    headers: async (request) => {
      const unsigned = prepare(terms(request));
      const signature = await signWith(key, unsigned.message as Uint8Array<ArrayBuffer>);
      return {
        "content-digest": unsigned["content-digest"],
        "signature-input": unsigned["signature-input"],
        signature: `copal=:${toBase64(signature)}:`,
      };
    },
  };
}

/** An Ed25519 signature by a key of WebCrypto. */
export async function signWith(key: CryptoKey, message: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign("Ed25519", key, message));
}

/** A pair of keys that nobody can take out of WebCrypto; null where the browser has no such keys. */
async function makeKey(): Promise<{ key: CryptoKey; public: Uint8Array<ArrayBuffer> } | null> {
  try {
    const pair = (await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"])) as CryptoKeyPair;
    return { key: pair.privateKey, public: new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)) };
  } catch {
    return null;
  }
}

/** A device's pairs of keys; null where the browser has no such keys. */
export async function makeKeys(): Promise<{ signing: SigningKeys; public: { manifest: Uint8Array; request: Uint8Array } } | null> {
  const [manifest, request] = [await makeKey(), await makeKey()];
  if (!manifest || !request) return null;
  return { signing: { manifest: manifest.key, request: request.key }, public: { manifest: manifest.public, request: request.public } };
}

function terms(request: { method: string; uri: string; digest: Uint8Array; seconds: number }): RequestToSign {
  const nonce = crypto.getRandomValues(new Uint8Array(16));
  return { method: request.method, url: request.uri, sha256: request.digest, created: request.seconds, expires: request.seconds + LIFE, nonce };
}

function plain(headers: SignedHeaders): Record<string, string> {
  return { "content-digest": headers["content-digest"], "signature-input": headers["signature-input"], signature: headers.signature };
}

/** Seconds that a signature counts; a large body may take its time on the way, but the head of the request does not. */
const LIFE = 60;
