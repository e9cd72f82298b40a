import { defineConfig } from "vitest/config";

// One browser after another: they share two processors with the server. Time-outs are for a machine that is four times slower,
// and has the other tests beside these.
export default defineConfig({
  test: {
    include: ["test/e2e/*.test.ts"],
    testTimeout: 1_200_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 60_000 } },
    fileParallelism: false,
  },
});
