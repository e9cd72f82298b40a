/** Kept page: which files are kept, and when the service worker hands them out. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { files } from "../../src/core/keep/page";

const HASH = "a".repeat(64);
const list = (paths: string[], hash = HASH) => new TextEncoder().encode(JSON.stringify(Object.fromEntries(paths.map((path) => [path, hash])))).buffer;

test("nothing is kept but files of a build: never anything of the gateway", () => {
  expect(files(list(["/index.html", "/assets/index-C1.js", "/media.js"]))).toHaveLength(3);
  for (const path of ["/v1/repository", "/v1/objects/packs/ab", "/media/x", "//else.example/x", "https://else.example/x", "/assets/../v1/time", "/assets/a/b.js", "/.x", "/x?y", ""]) {
    expect(() => files(list(["/index.html", path])), path).toThrow();
  }
  expect(() => files(list(["/assets/a.js"])), "no page").toThrow();
  expect(() => files(list(["/index.html"], "short"))).toThrow();
  expect(() => files(list(["/index.html", ...Array.from({ length: 600 }, (_, i) => `/assets/${i}.js`)]))).toThrow();
});

/** The service worker's own code, with caches by name and a server that answers so. */
function worker(kept: Record<string, Record<string, string>>, server: (path: string) => Promise<{ status: number }>) {
  const listeners: Record<string, (event: object) => void> = {};
  const asked: string[] = [];
  const caches = { keys: async () => Object.keys(kept), open: async (name: string) => ({ match: async (path: string) => kept[name]![path] }) };
  const context = {
    self: { addEventListener: (name: string, listener: (event: object) => void) => { listeners[name] = listener; } }, location: { origin: "https://page.example" }, URL, Set, caches,
    fetch: (request: { url: string }) => { asked.push(new URL(request.url).pathname); return server(new URL(request.url).pathname); }, setTimeout: (end: () => void) => setTimeout(end, 20), Promise, undefined,
  };
  runInNewContext(readFileSync(join(import.meta.dirname, "../../public/media.js"), "utf8"), context);
  const answer = async (url: string, method = "GET") => {
    const respondWith = vi.fn();
    listeners["fetch"]!({ request: { url, method }, respondWith });
    return respondWith.mock.calls.length === 0 ? "not ours" : respondWith.mock.calls[0]![0];
  };
  return { answer, asked };
}

const PAGE = "https://page.example";
const BUILD = { "/": "kept page", "/assets/a.js": "kept script", "/files.json": "list" };

test("the server's page counts wherever it answers; a kept one is for when it does not, is late, or fails", async () => {
  const served = { status: 200 };
  const up = worker({ "copal-page-1": BUILD }, async () => served);
  expect(await up.answer(`${PAGE}/`)).toBe(served);
  expect(await up.answer(`${PAGE}/assets/a.js`), "named by its content").toBe("kept script");
  expect(await up.answer(`${PAGE}/assets/b.js`), "of another build").toBe(served);
  for (const away of [() => Promise.reject(new TypeError()), async () => ({ status: 502 }), () => new Promise<never>(() => {})]) {
    const down = worker({ "copal-page-1": BUILD }, away);
    expect(await down.answer(`${PAGE}/`)).toBe("kept page");
    expect(await down.answer(`${PAGE}/index.html`)).toBe("kept page");
  }
});

test("a build that is not whole is not handed out, and the newest whole one is", async () => {
  const away = () => Promise.reject(new TypeError("away"));
  const { "/files.json": _, ...half } = BUILD;
  const two = worker({ "copal-page-1": BUILD, "copal-page-2": { ...BUILD, "/": "newer page" }, "copal-page-3": half, other: BUILD }, away);
  expect(await two.answer(`${PAGE}/`)).toBe("newer page");
  await expect(worker({ "copal-page-1": half }, away).answer(`${PAGE}/`)).rejects.toThrow("away");
});

test("what is asked of the gateway or of others never comes this way", async () => {
  const { answer, asked } = worker({ "copal-page-1": { ...BUILD, "/v1/repository": "false" } }, async () => ({ status: 200 }));
  for (const url of [`${PAGE}/v1/repository`, `${PAGE}/v1/objects/keys/x`, "https://bucket.example/", "https://bucket.example/assets/a.js"]) expect(await answer(url), url).toBe("not ours");
  expect(await answer(`${PAGE}/`, "POST")).toBe("not ours");
  expect(asked).toEqual([]);
});
