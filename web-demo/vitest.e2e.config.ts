import { defineConfig } from "vitest/config";

// Two browsers at a time: they wait more than they compute. Time-outs allow for a machine that is four times slower,
// and runs other tests at the same time.
export default defineConfig({
  test: {
    include: ["test/e2e/*.test.ts"],
    testTimeout: 1_200_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 60_000 } },
    globalSetup: ["test/e2e/built.ts"],
    maxWorkers: 2,
  },
});
