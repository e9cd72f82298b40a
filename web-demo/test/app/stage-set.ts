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

/** A page that stands where the scene says; `complaints` are what the browser found wrong. */
export async function enter(set: StageSet, scene: Scene, options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: string[] }> {
  const context = await set.browser.newContext({ locale: scene.locale ?? "en-GB", timezoneId: "UTC", viewport: DESKTOP, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on("console", (message) => { if (message.type() === "error" || message.type() === "warning") complaints.push(message.text()); });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.clock.setFixedTime(NOW);
  await page.goto(`${set.address}?scene=${scene.core}${scene.screen ? `#${scene.screen}` : ""}`);
  await scene.steps?.(page);
  await page.getByText(scene.shows).first().waitFor();
  return { page, complaints };
}

export const DESKTOP = { width: 1280, height: 820 };
export const PHONE = { width: 390, height: 844 };
