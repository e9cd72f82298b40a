//! Media: a service worker that answers the players of this page, and hands out the page's own files where the server does not. It
//! holds no key and keeps no byte of a backup: each piece of a file it asks of the page, which verifies it first
//! (src/core/look/streams.ts). Whatever is in a file, it leaves here as sound or film only. The page's own files it only reads: the
//! page keeps them (src/core/keep/page.ts), and only if the person wants it to open without a network.

self.addEventListener("install", (event) => {
  // What is asked of the gateway never comes this way, where the browser knows of routes.
  try {
    event.addRoutes([{ condition: { urlPattern: { pathname: "/v1/*" } }, source: "network" }]);
  } catch {
    // It comes this way, and is let through.
  }
  self.skipWaiting();
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  if (origin !== location.origin || pathname.startsWith("/v1/")) return;
  if (pathname.startsWith("/media/")) event.respondWith(answer(event, pathname.slice("/media/".length)));
  else if (event.request.method === "GET") event.respondWith(file(event.request, pathname === "/index.html" ? "/" : pathname));
});

/** A file of the page. The server's counts wherever it answers, so that a new build replaces a kept one at the next visit; but what is
 * named by its content is the same in both. */
async function file(request, path) {
  const kept = await keptFile(path);
  if (!kept) return fetch(request);
  if (path.startsWith("/assets/")) return kept;
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE));
  const served = await Promise.race([fetch(request).catch(() => undefined), late]);
  return served && served.status < 500 ? served : kept;
}

/** A file of the newest build that is kept whole. */
async function keptFile(path) {
  const names = await caches.keys();
  for (const name of names.filter((one) => one.startsWith("copal-page-")).reverse()) {
    const cache = await caches.open(name);
    if (await cache.match("/files.json")) return cache.match(path);
  }
  return undefined;
}

/** A part of a file, to a player of the page that has opened it. A document, a frame, a script or a download gets nothing. */
async function answer({ request, clientId }, name) {
  const isPlayer = request.method === "GET" && (request.destination === "audio" || request.destination === "video");
  const page = isPlayer && clientId ? await self.clients.get(clientId) : undefined;
  const range = rangeOf(request.headers.get("range"));
  if (!page || !range) return refusal(404);
  const first = await ask(page, name, range.start, true);
  if (!first || !/^(audio|video)\/[a-z0-9-]+$/.test(first.mediaType)) return refusal(404);
  const { total, mediaType } = first;
  if (range.start >= total) return refusal(416, { "Content-Range": `bytes */${total}` });
  const end = Math.min(range.end ?? total, total);
  const isPart = request.headers.has("range");
  const headers = {
    ...HEADERS, "Content-Type": mediaType, "Content-Length": String(end - range.start), "Accept-Ranges": "bytes", "Content-Disposition": "attachment",
    ...(isPart ? { "Content-Range": `bytes ${range.start}-${end - 1}/${total}` } : {}),
  };
  return new Response(pieces(page, name, range.start, end, first.bytes), { status: isPart ? 206 : 200, headers });
}

/** Pieces one after another, each of them asked for once the player wants it. */
function pieces(page, name, start, end, first) {
  let [at, next] = [start, first];
  return new ReadableStream({
    async pull(controller) {
      next ??= (await ask(page, name, at, false))?.bytes;
      if (!next || next.byteLength === 0) return controller.error(new Error("the page hands out nothing more"));
      const bytes = new Uint8Array(next, 0, Math.min(next.byteLength, end - at));
      [at, next] = [at + bytes.length, null];
      controller.enqueue(bytes);
      if (at >= end) controller.close();
    },
  }, { highWaterMark: 0 });
}

/** What the page says of a file from a place on; null: it has no such file open. */
function ask(page, name, start, isFirst) {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => {
      port1.close();
      resolve(data);
    };
    page.postMessage({ name, start, isFirst }, [port2]);
  });
}

/** One range from a place on, or up to a place; null for anything else. */
function rangeOf(header) {
  if (header === null) return { start: 0, end: null };
  const found = /^bytes=(\d{1,15})-(\d{1,15})?$/.exec(header);
  if (!found) return null;
  const [start, end] = [Number(found[1]), found[2] === undefined ? null : Number(found[2]) + 1];
  return end !== null && end <= start ? null : { start, end };
}

function refusal(status, headers = {}) {
  return new Response(null, { status, headers: { ...HEADERS, "Content-Type": "text/plain", ...headers } });
}

/** Should an answer ever be taken for a document, it is an empty one that may do nothing. */
const HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; sandbox",
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
};
/** Milliseconds that the server may take before a kept page is shown. */
const PATIENCE = 8_000;
