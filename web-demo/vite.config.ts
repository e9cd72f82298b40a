import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { defineConfig } from "vitest/config";
import type { Plugin } from "vite";

/** Puts a compressed copy beside every file that is worth it; `copal serve` sends it to whoever takes it. */
export function compressed(): Plugin {
  let folder = "";
  return {
    name: "compressed",
    apply: "build",
    configResolved: ({ root, build }) => void (folder = resolve(root, build.outDir)),
    closeBundle: () => {
      for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        if (!/\.(js|css|wasm|html|svg)$/.test(name)) continue;
        const bytes = readFileSync(join(folder, name));
        const small = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
        if (small.length < bytes.length) writeFileSync(join(folder, `${name}.br`), small);
      }
    },
  };
}

// Every file that the page loads is named by its content, but for index.html: `copal serve` lets browsers keep them.
export default defineConfig({
  base: "/",
  plugins: [compressed()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
  },
  worker: { format: "es" },
  server: { fs: { allow: [".."] } },
  // A machine that is shared may be slow.
  test: { testTimeout: 60_000, include: ["test/**/*.test.ts", "test/**/*.test.tsx"], exclude: ["test/e2e/**", "node_modules/**"] },
});
