import { describe, expect, test } from "vitest";

import { type Files, Starting } from "../../src/core/coordinator/starting";

/** Files of which each comes, or fails, when the test says so; and in which order what was done. */
function world() {
  const done: string[] = [];
  const waiting = new Map<string, { come: () => void; fail: () => void }>();
  const file = (name: string) => () =>
    new Promise<WebAssembly.Module>((resolve, reject) => {
      done.push(`fetch ${name}`);
      waiting.set(name, { come: () => resolve(name as unknown as WebAssembly.Module), fail: () => reject(new TypeError("Failed to fetch")) });
    });
  const take = (what: string) => async (module: WebAssembly.Module) => void done.push(`${what} ${module as unknown as string}`);
  const files: Files = { first: file("first"), rest: file("rest"), load: take("load"), loadRest: take("add") };
  const settle = () => new Promise((resolve) => setTimeout(resolve));
  const come = (name: string) => settle().then(() => waiting.get(name)!.come()).then(settle);
  const fail = (name: string) => settle().then(() => waiting.get(name)!.fail()).then(settle);
  return { starting: new Starting(files), done, come, fail };
}

describe("the engine", () => {
  test("has begun with its first file, and asks for no other", async () => {
    const { starting, done, come } = world();
    const begun = starting.begun();
    await come("first");
    expect(await begun).toBe("first");
    expect(done).toEqual(["fetch first", "load first"]);
  });

  test("is whole with both, each fetched once, whoever asks", async () => {
    const { starting, done, come } = world();
    const asked = [starting.whole(), starting.begun(), starting.whole()];
    await come("first");
    await come("rest");
    await Promise.all(asked);
    await starting.whole();
    expect(done).toEqual(["fetch first", "load first", "fetch rest", "add rest"]);
  });

  test("fetches the rest again after it could not be had", async () => {
    const { starting, done, come, fail } = world();
    const begun = starting.begun();
    await come("first");
    await begun;
    const refused = expect(starting.whole()).rejects.toMatchObject({ problem: { code: "unsupported" } });
    await fail("rest");
    await refused;
    const again = starting.whole();
    await come("rest");
    await again;
    expect(done).toEqual(["fetch first", "load first", "fetch rest", "fetch rest", "add rest"]);
  });

  test("fetches the first file again after it could not be had", async () => {
    const { starting, done, come, fail } = world();
    const refused = expect(starting.begun()).rejects.toMatchObject({ problem: { code: "unsupported" } });
    await fail("first");
    await refused;
    const again = starting.whole();
    await come("first");
    await come("rest");
    await again;
    expect(done).toEqual(["fetch first", "fetch first", "load first", "fetch rest", "add rest"]);
  });
});
