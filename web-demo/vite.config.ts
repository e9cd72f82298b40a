import { defineConfig } from "vitest/config";

// Every file that the page loads is named by its content, but for index.html: `copal serve` lets browsers keep them.
export default defineConfig({
  base: "/",
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
