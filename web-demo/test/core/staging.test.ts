import { describe, expect, test } from "vitest";

import { Staging } from "../../src/core/coordinator/staging";
import type { Private } from "../../src/core/keep/private";

const MINUTE = 60_000;

/** Private files in memory, and a clock that is told what time it is. */
function world(room = Number.POSITIVE_INFINITY) {
  const files = new Map<string, { length: number; written: number }>();
  const timers: [work: () => void, at: number][] = [];
  const world = { files, now: 1_000_000, pass };
  const find = (name: string) => files.get(name) ?? { length: 0, written: world.now };
  const store: Private = {
    read: async () => null,
    write: async () => {},
    remove: async (name) => void files.delete(name),
    list: async () => [...files.keys()],
    create: async (name) => {
      const put = (length: number) => void files.set(name, { length, written: world.now });
      put(0);
      return { write: async (bytes, at) => put(at + bytes.length), truncate: async (length) => put(length), flush: async () => {}, close: async () => {} };
    },
    file: async (name) => new File([new Uint8Array(Math.min(find(name).length, room))], name, { lastModified: find(name).written }),
  };
  async function pass(ms: number): Promise<void> {
    world.now += ms;
    for (const timer of timers.splice(0)) (timer[1] <= world.now ? timer[0]() : timers.push(timer));
    await new Promise((resolve) => setTimeout(resolve));
  }
  const staging = new Staging(async () => store, { now: () => world.now, later: (work, ms) => void timers.push([work, world.now + ms]) });
  return { world, staging };
}

async function download(staging: Staging, world: { pass(ms: number): Promise<void> }, lasts: number): Promise<File> {
  const staged = await staging.begin("photos.zip");
  const place = await staged.place();
  await world.pass(lasts);
  await place.write(new Uint8Array(5), 0);
  await place.close();
  return staged.finish();
}

describe("a staged download", () => {
  test("is handed over whole, and removed by itself ten minutes after its end", async () => {
    const { world: there, staging } = world();
    expect((await download(staging, there, 120 * MINUTE)).size).toBe(5);
    await staging.sweep();
    expect(there.files.size, "it took long, and has just ended").toBe(1);
    await there.pass(9 * MINUTE);
    expect(there.files.size).toBe(1);
    await there.pass(MINUTE);
    expect(there.files.size).toBe(0);
  });

  test("of which the browser has kept a part without a word is not handed over", async () => {
    const { world: there, staging } = world(4);
    await expect(download(staging, there, 0)).rejects.toMatchObject({ problem: { code: "browser-full" } });
  });

  test("does not outlive a lock by more than the browser needs to copy it", async () => {
    const { world: there, staging } = world();
    await download(staging, there, 0);
    await staging.lock();
    expect(there.files.size, "it may be on its way").toBe(1);
    await there.pass(MINUTE);
    await staging.lock();
    expect(there.files.size).toBe(0);
  });

  test("that an earlier life of the page has left is removed by the next", async () => {
    const { world: there, staging } = world();
    there.files.set("1 old.zip", { length: 9, written: there.now - 11 * MINUTE });
    there.files.set("2 new.zip", { length: 9, written: there.now - MINUTE });
    await staging.start();
    expect([...there.files.keys()], "the browser may be copying it still").toEqual(["2 new.zip"]);
    await there.pass(10 * MINUTE);
    expect([...there.files.keys()]).toEqual([]);
  });
});
