//! A restorer whose server is a directory: the product's own library and run restore the newest snapshot of a repository,
//! which the page's server hands out as files, into the browser's private files.

import { Control } from "../../src/core/coordinator/control";
import { Opened } from "../../src/core/coordinator/opened";
import { Descriptor, Owner, initSync } from "../../src/core/engine";
import { openPrivate } from "../../src/core/keep/private";
import { Books } from "../../src/core/restore/books";
import { RestoreRun } from "../../src/core/restore/run";
import { stagedPlace } from "../../src/core/restore/place";
import { SingleTarget, ZipTarget } from "../../src/core/restore/targets";
import { startStretcher } from "../../src/core/work/stretcher";
import { isStretching, spawnStretching, stretching } from "../../src/core/work/stretching";
import moduleUrl from "../../../wasm/pkg/copal_bg.wasm?url";

/** What it took. */
export interface Restored {
  seconds: number;
  files: number;
  bytes: number;
  /** Bytes of packs and whatever else was read meanwhile. */
  fetched: number;
}

/** Opens the repository with a passphrase, or restores from it. */
async function take({ data }: MessageEvent<{ passphrase: string } | "restore">): Promise<void> {
  try {
    self.postMessage(data === "restore" ? await restore() : await open(data.passphrase));
  } catch (error) {
    self.postMessage(String((error as Error)?.stack ?? error));
  }
}

self.onmessage = isStretching() ? stretching : take;

let opened: Opened;
let fetched = 0;

/** Reads what a gateway would, without its signatures. */
const gateway = {
  signWith: () => {},
  newestRoot: async () => (await names("roots/"))[0] ?? null,
  list: async (_patience: unknown, prefix: string) => (await names(prefix)).map((key) => ({ key })),
  read: async (_patience: unknown, key: string, range: [number, number] | null = null) => {
    const response = await fetch(`/repository/${key}`, range ? { headers: { range: `bytes=${range[0]}-${range[1]}` } } : {});
    if (!response.ok) return null;
    const bytes = new Uint8Array(await response.arrayBuffer());
    fetched += bytes.length;
    return bytes;
  },
};

async function open(passphrase: string): Promise<null> {
  const module = await WebAssembly.compileStreaming(fetch(moduleUrl));
  initSync({ module });
  const newest = (await names("copal/")).at(-1)!;
  const descriptor = new Descriptor(Number(newest.split("/").at(-1)), (await gateway.read(null, newest))!);
  const owner = await openOwner(module, passphrase);
  const database = { get: async () => undefined };
  const known = { facts: { id: descriptor.facts.repository }, descriptor };
  opened = await Opened.full(known as never, gateway as never, database as never, null, owner);
  return null;
}

async function restore(): Promise<Restored> {
  const books = new Books(opened);
  const snapshot = (await books.snapshots()).snapshots[0]!.id;
  const { files } = await books.measure(snapshot, [""]);
  const found = files === 1 ? await books.search(snapshot, "", "", new Control(), () => {}) : null;
  const only = found?.hits.find(({ kind }) => kind === "file")?.id;
  const place = await stagedPlace(await openPrivate("measured"), "restored");
  const target = async () => (only === undefined ? new ZipTarget(place, "", false) : new SingleTarget(place));
  fetched = 0;
  const begun = performance.now();
  const result = await new RestoreRun(books, snapshot, [only ?? ""]).run(new Control(), target);
  const seconds = (performance.now() - begun) / 1000;
  if (result.damaged.length + result.skipped.length > 0) throw new Error("not everything was restored");
  books.free();
  return { seconds, files: result.files, bytes: result.bytes, fetched };
}

async function openOwner(module: WebAssembly.Module, passphrase: string): Promise<Owner> {
  const stretcher = startStretcher(spawnStretching, module);
  try {
    for (const name of await names("keys/")) {
      const slot = (await gateway.read(null, name))!;
      try {
        return Owner.openStretched(slot, await stretcher.stretch(slot, passphrase));
      } catch (error) {
        if (!["slot-other", "wrong-passphrase"].includes((error as { code: string }).code)) throw error;
      }
    }
    throw new Error("no slot opens");
  } finally {
    stretcher.end();
  }
}

async function names(prefix: string): Promise<string[]> {
  return (await fetch(`/names/${prefix}`)).json();
}
