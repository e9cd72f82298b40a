import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { defineConfig } from "vitest/config";
import { type Plugin, build } from "vite";

/** Puts a compressed copy beside every file that is worth it; `copal serve` sends it to whoever takes it. */
export function compressed(): Plugin {
  let folder = "";
  return {
    name: "compressed",
    apply: "build",
    configResolved: ({ root, build }) => void (folder = resolve(root, build.outDir)),
    closeBundle: {
      sequential: true,
      order: "post",
      handler: () => {
        for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
          if (!/\.(js|css|wasm|html|svg)$/.test(name)) continue;
          const bytes = readFileSync(join(folder, name));
          const small = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
          if (small.length < bytes.length) writeFileSync(join(folder, `${name}.br`), small);
        }
      },
    },
  };
}

/** Names the files of a build with their hashes: what a page keeps that is to open without a network. */
export function listed(folder: string): void {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  const kept = names.filter((name) => !name.endsWith(".br") && name !== "files.json").sort();
  const hashes = kept.map((name) => [`/${name}`, createHash("sha256").update(readFileSync(join(folder, name))).digest("hex")]);
  writeFileSync(join(folder, "files.json"), JSON.stringify(Object.fromEntries(hashes)));
}

function listing(): Plugin {
  let folder = "";
  return { name: "listing", apply: "build", configResolved: ({ root, build }) => void (folder = resolve(root, build.outDir)), closeBundle: { sequential: true, handler: () => listed(folder) } };
}

/** Builds the page of share links into a folder. By itself: it has no file in common with the main page, so neither grows with the other. */
export async function buildSharePage(outDir: string): Promise<void> {
  const root = import.meta.dirname;
  await build({ configFile: false, root, logLevel: "warn", publicDir: false, build: { ...BUILD, outDir, emptyOutDir: false, rollupOptions: { input: resolve(root, "share.html") } } });
}

function sharePage(): Plugin {
  let folder = "";
  return {
    name: "share-page",
    apply: "build",
    configResolved: ({ root, build }) => void (folder = resolve(root, build.outDir)),
    closeBundle: {
      sequential: true,
      handler: () => buildSharePage(folder),
    },
  };
}

const BUILD = { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, sourcemap: false } as const;

/** What every visit loads is in two files, each with all that its module imports: many small files compress worse. */
const FIRST = [{ name: "main", test: /src\/main\.ts$/ }, { name: "restore", test: /restore\/restore\.tsx$/ }];

// Every file that a page loads is named by its content, but for index.html and share.html: `copal serve` lets browsers keep them.
export default defineConfig({
  base: "/",
  plugins: [sharePage(), listing(), compressed()],
  build: { ...BUILD, rollupOptions: { output: { codeSplitting: { groups: FIRST } } } },
  // Parts that are loaded later import from this script, never from a worker's first one (coordinator/entry.ts).
  worker: { format: "es", rollupOptions: { output: { manualChunks: (id) => (id.endsWith("/coordinator/coordinator.ts") ? "coordinator" : undefined) } } },
  server: { fs: { allow: [".."] } },
  // A machine that is shared may be slow.
  test: { testTimeout: 60_000, include: ["test/**/*.test.ts", "test/**/*.test.tsx"], exclude: ["test/e2e/**", "node_modules/**"] },
});
