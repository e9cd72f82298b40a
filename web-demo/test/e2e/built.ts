//! Built: what the tests serve, built once for all of them.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "vite";
import type { TestProject } from "vitest/node";

import { buildSharePage } from "../../vite.config";

declare module "vitest" {
  /** Directories that `copal serve --web` takes. Nobody writes into them. */
  export interface ProvidedContext {
    harness: string;
    product: string;
  }
}

export default async function ({ provide }: TestProject): Promise<() => void> {
  const [core, page] = [await harness(), await product()];
  provide("harness", core);
  provide("product", page);
  return () => [core, page].forEach((built) => rmSync(built, { recursive: true }));
}

/** The core without a display. */
async function harness(): Promise<string> {
  const outDir = mkdtempSync(join(tmpdir(), "copal-harness-"));
  await build({
    configFile: false,
    root: join(import.meta.dirname, "harness"),
    logLevel: "error",
    worker: { format: "es" },
    build: { outDir, emptyOutDir: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  });
  await buildSharePage(outDir);
  return outDir;
}

/** The page as it is served to people. */
async function product(): Promise<string> {
  const outDir = mkdtempSync(join(tmpdir(), "copal-product-"));
  // The tests' own word for what they are would make a larger page.
  const { NODE_ENV } = process.env;
  process.env["NODE_ENV"] = "production";
  await build({ root: ROOT, configFile: join(ROOT, "vite.config.ts"), logLevel: "error", build: { outDir, emptyOutDir: true } });
  process.env["NODE_ENV"] = NODE_ENV;
  return outDir;
}

const ROOT = resolve(import.meta.dirname, "../..");
