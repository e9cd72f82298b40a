import { defineConfig } from "vitest/config";

// One browser after another: they share two processors with the server.
export default defineConfig({
  test: { include: ["test/e2e/*.test.ts"], testTimeout: 600_000, hookTimeout: 300_000, fileParallelism: false },
});
