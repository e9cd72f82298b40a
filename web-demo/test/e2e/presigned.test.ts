//! With a repository in a bucket the tab talks to the bucket itself, by addresses that the gateway hands out.

import { rmSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { Bucket, Machine, backUp, generate, harness, launch, listing, open, unlock } from "./kit";

let browser: Browser;
let web: string;
beforeAll(async () => {
  [web, browser] = [await harness(), await launch()];
});
afterAll(async () => {
  await browser?.close();
  if (web) rmSync(web, { recursive: true });
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
    expect(tab.strays).toEqual([]);
    await tab.context.close();
  } finally {
    await machine.end();
    await bucket.end();
  }
});
