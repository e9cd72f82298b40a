import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** Builds the harness by itself: nothing of it goes into the product. */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  logLevel: "warn",
  worker: { format: "es" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: { emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
});
