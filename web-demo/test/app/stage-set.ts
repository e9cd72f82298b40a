/** The harness, built and served under the headers that the page is served under, and a browser to look at it. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { build, preview, type PreviewServer } from "vite";
import { NOW } from "./harness/scripted";
import type { Scene } from "./scenes";

const CONFIG = fileURLToPath(new URL("./harness/vite.config.ts", import.meta.url));

/** As strict as the product's: a style attribute, an inline script, a request elsewhere would be refused and reported. */
const POLICY = [
  "default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'", "img-src 'self' blob:", "media-src 'self'", "connect-src 'self'", "worker-src 'self'",
  "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types copal",
].join("; ");

export interface StageSet {
  browser: Browser;
  address: string;
  close: () => Promise<void>;
}

export async function stageSet(): Promise<StageSet> {
  const directory = await mkdtemp(join(tmpdir(), "copal-display-"));
  await build({ configFile: CONFIG, build: { outDir: directory } });
  const server: PreviewServer = await preview({
    configFile: CONFIG,
    build: { outDir: directory },
    preview: { host: "127.0.0.1", port: 0, headers: { "Content-Security-Policy": POLICY } },
  });
  const browser = await chromium.launch({
    executablePath: process.env["COPAL_CHROMIUM"] ?? "/usr/bin/chromium",
    timeout: 180_000,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  return {
    browser,
    address: server.resolvedUrls?.local[0] ?? "",
    async close() {
      await browser.close();
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export interface Entered {
  page: Page;
  /** What the browser found wrong. */
  complaints: string[];
}

/** A page of its own that stands where the scene says. */
export async function enter(set: StageSet, scene: Scene, options: BrowserContextOptions = {}): Promise<Entered> {
  return go(set, scene, await blank(set, scene, options));
}

/** A page that goes from scene to scene as a browser does whose owner clears it in between: a second fewer for each than in a new one. */
export class Round {
  readonly #pages = new Map<string, Page>();

  constructor(readonly set: StageSet, readonly options: BrowserContextOptions) {}

  async enter(scene: Scene): Promise<Entered> {
    const locale = scene.locale ?? LOCALE;
    const used = this.#pages.get(locale);
    if (used) await clear(used, new URL(this.set.address).origin);
    const page = used ?? (await blank(this.set, scene, this.options));
    this.#pages.set(locale, page);
    return go(this.set, scene, page);
  }
}

async function blank(set: StageSet, scene: Scene, options: BrowserContextOptions): Promise<Page> {
  const context = await set.browser.newContext({ locale: scene.locale ?? LOCALE, timezoneId: "UTC", viewport: DESKTOP, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.clock.setFixedTime(NOW);
  return page;
}

async function clear(page: Page, origin: string): Promise<void> {
  await page.evaluate(() => sessionStorage.clear());
  page.removeAllListeners();
  await page.goto("about:blank");
  const debug = await page.context().newCDPSession(page);
  await debug.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
  await debug.detach();
}

async function go(set: StageSet, scene: Scene, page: Page): Promise<Entered> {
  const complaints: string[] = [];
  page.on("console", (message) => { if (message.type() === "error" || message.type() === "warning") complaints.push(message.text()); });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(`${set.address}?scene=${scene.core}${scene.screen ? `#${scene.screen}` : ""}`);
  await scene.steps?.(page);
  await page.getByText(scene.shows).first().waitFor();
  return { page, complaints };
}

const LOCALE = "en-GB";
export const DESKTOP = { width: 1280, height: 820 };
export const WIDE = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };
