//! Count: says at the end how many tests passed and failed, as the project's own commands read it.

import type { Reporter, TestModule } from "vitest/node";

export default class Count implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    let [passed, failed] = [0, errors.length];
    for (const module of modules) {
      if (module.errors().length > 0) failed += 1;
      // What was skipped counts as failed: nothing here may be switched off.
      for (const test of module.children.allTests()) test.result().state === "passed" ? (passed += 1) : (failed += 1);
    }
    console.log(`${passed} passed, ${failed} failed`);
  }
}
