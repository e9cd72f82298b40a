//! With a repository in a bucket the tab talks to the bucket itself, by addresses that the gateway hands out.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";

import { Bucket, Machine, backUp, generate, launch, listing, open, unlock } from "./kit";

let browser: Browser;
const web = inject("harness");
beforeAll(async () => {
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
});

test("a folder goes into a bucket on another origin and comes back, and only these two origins are asked", async () => {
  const machine = new Machine();
  const bucket = await Bucket.start(machine.home);
  try {
    machine.repository = "s3://copal/repository";
    machine.environment = bucket.environment;
    machine.init();
    // MinIO answers pages of other origins; that it heeds what was not signed is its matter here.
    await machine.serve(web, ["--presign", "always"]);
    const tab = await open(browser, machine.url, [bucket.endpoint]);
    const toBucket: string[] = [];
    tab.context.on("request", (request) => {
      if (request.url().startsWith(bucket.endpoint)) toBucket.push(request.method());
    });
    const folder = machine.path("Pictures");
    generate(folder, { files: 150 });
    await unlock(tab);
    expect(await backUp(tab, folder)).toMatchObject({ receipt: "verified" });
    expect(toBucket).toContain("PUT");
    const again = await backUp(tab, folder);
    expect(again).toMatchObject({ newBytes: 0, receipt: "verified" });
    machine.copal(["restore", again.snapshot, "--target", "out"]);
    const expected = listing(folder);
    expect(listing(machine.path("out/Pictures"))).toEqual(expected);

    const arriving = tab.page.waitForEvent("download");
    const result = await tab.page.evaluate(async () => {
      const { snapshots } = await window.core.snapshots();
      return (await window.core.download(snapshots[0]!.id, ["Pictures"], { askWhere: false })).done;
    });
    expect(result).toMatchObject({ files: Object.keys(expected).length, damaged: [] });
    await arriving;
    expect(toBucket).toContain("GET");

    // A link's bytes come from the bucket too, for whoever has a ticket.
    const { link } = await tab.page.evaluate(async () => {
      const { snapshots } = await window.core.snapshots();
      return (await window.core.share(snapshots[0]!.id, ["Pictures/noise.bin"], { label: "Noise", days: 1, count: 1 })).done;
    });
    const reader = await open(browser, `${machine.url}/share`, [bucket.endpoint], "h1");
    const read: string[] = [];
    reader.context.on("request", (request) => read.push(request.url()));
    await reader.page.goto(link);
    await reader.page.getByRole("button", { name: "Show files" }).click();
    const download = reader.page.waitForEvent("download");
    await reader.page.getByRole("button", { name: /^Download/ }).click();
    expect(readFileSync(await (await download).path()).equals(readFileSync(join(folder, "noise.bin")))).toBe(true);
    expect(read.some((url) => url.startsWith(`${bucket.endpoint}/copal/repository/shares/data/`))).toBe(true);
    expect(reader.strays).toEqual([]);
    await reader.context.close();
    expect(tab.strays).toEqual([]);
    await tab.context.close();
  } finally {
    await machine.end();
    await bucket.end();
  }
});
