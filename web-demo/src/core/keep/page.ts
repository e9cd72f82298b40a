//! Page: the page's own files, kept so that it opens without a network. `public/media.js` hands them out where the server does not
//! answer. A build is kept whole or not at all.

import { toHex } from "../digits";
import { failure } from "../problem";
import { ownScript } from "../trusted";
import { KEPT, LIST } from "./kept-page";

/** Keeps the files of the build that the server has now, in the place of those of another build. */
export async function keepPage(): Promise<void> {
  const workers = navigator.serviceWorker;
  if (!workers || !globalThis.caches) throw failure("unsupported");
  await workers.register(ownScript("/media.js"), { scope: "/" }).catch(() => { throw failure("unsupported"); });
  const listed = await fetched(LIST, "no-store");
  const bytes = await listed.clone().arrayBuffer();
  const name = `${KEPT}${(await digest(bytes)).slice(0, 32)}`;
  if (!(await isWhole(name))) await fill(name, files(bytes), listed);
  // Only now: until here a page without a network opens with the build before.
  for (const other of await caches.keys()) if (other.startsWith(KEPT) && other !== name) await caches.delete(other);
}

/** Keeps nothing of the page any more. `isNeeded`: something else still needs the service worker. */
export async function dropPage(isNeeded: boolean): Promise<void> {
  for (const name of (await globalThis.caches?.keys()) ?? []) if (name.startsWith(KEPT)) await caches.delete(name);
  if (!isNeeded) await (await navigator.serviceWorker?.getRegistration("/"))?.unregister();
}

/** Paths and hashes of a build's files. A list that names anything else is none: nothing of the gateway is ever kept. */
export function files(list: ArrayBuffer): [path: string, hash: string][] {
  const named = Object.entries(JSON.parse(new TextDecoder().decode(list)) as Record<string, unknown>);
  const isSound = ([path, hash]: [string, unknown]) => FILE.test(path) && typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash);
  if (named.length > FILES || !named.every(isSound) || !named.some(([path]) => path === "/index.html")) throw failure("server-failed");
  return named as [string, string][];
}

async function isWhole(name: string): Promise<boolean> {
  return (await caches.has(name)) && (await (await caches.open(name)).match(LIST)) !== undefined;
}

async function fill(name: string, listed: [string, string][], list: Response): Promise<void> {
  const cache = await caches.open(name);
  for (const [path, hash] of listed) {
    const address = path === "/index.html" ? "/" : path;
    const file = await fetched(address, "no-cache");
    // The server may have got another build meanwhile: the next visit tries again.
    if ((await digest(await file.clone().arrayBuffer())) !== hash) throw failure("server-failed");
    await cache.put(address, file);
  }
  await cache.put(LIST, list);
}

async function fetched(address: string, cache: RequestCache): Promise<Response> {
  const response = await fetch(address, { cache, credentials: "omit" }).catch(() => null);
  if (!response?.ok) throw failure("server-gone");
  return response;
}

async function digest(bytes: ArrayBuffer): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** A name without folders, or in `assets`. */
const FILE = /^\/(assets\/)?[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
const FILES = 500;
