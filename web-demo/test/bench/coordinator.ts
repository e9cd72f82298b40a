//! A coordinator whose server is not there: every upload is answered at once. It backs up with the product's own run and
//! workers what the page has chosen, or what another process makes when it is read.

import { Ledger } from "../../src/core/backup/progress";
import { BackupRun } from "../../src/core/backup/run";
import type { Settings } from "../../src/core/api";
import type { Site } from "../../src/core/backup/site";
import { Control } from "../../src/core/coordinator/control";
import { type Sealers, start } from "../../src/core/coordinator/labour";
import { Descriptor, Owner, View, initSync } from "../../src/core/engine";
import { type Origin, type Scanned, scan as scanned } from "../../src/core/source/tree";
import type { Labour } from "../../src/core/work/pool";
import { startStretcher } from "../../src/core/work/stretcher";
import { isStretching, spawnStretching, stretching } from "../../src/core/work/stretching";
import moduleUrl from "../../../wasm/pkg/copal_bg.wasm?url";
import sealingUrl from "../../../wasm/pkg/sealing_bg.wasm?url";

/** What is to be measured. */
export interface Order {
  workers: number;
  /** Key slot and descriptor of a repository, as hexadecimal digits. */
  given: { slot: string; descriptor: string };
  /** The folder that was chosen; or so many files of so many bytes each, made of the file that was chosen. */
  source: "folder" | { files: number; bytes: number };
}

/** What it took. */
export interface Outcome {
  seconds: number;
  bytes: number;
  newBytes: number;
  storedBytes: number;
  packs: number;
  /** Milliseconds that all workers have spent. */
  spent: Record<string, number>;
}

async function take({ data }: MessageEvent<{ order: Order; origin: Origin; maker: MessagePort }>): Promise<void> {
  try {
    self.postMessage(await measure(data.order, data.origin, data.maker));
  } catch (error) {
    self.postMessage(String((error as Error)?.stack ?? error));
  }
}

self.onmessage = isStretching() ? stretching : take;

let module: WebAssembly.Module | null = null;
let sealers: Sealers | null = null;
/** Goes on until the next measurement, so that it can be asked how long its threads were busy. */
let labour: Labour | null = null;

async function measure(order: Order, origin: Origin, maker: MessagePort): Promise<Outcome> {
  module ??= await WebAssembly.compileStreaming(fetch(moduleUrl));
  initSync({ module });
  sealers ??= start(await WebAssembly.compileStreaming(fetch(sealingUrl)));
  const descriptor = new Descriptor(1, bytesOf(order.given.descriptor));
  const slot = bytesOf(order.given.slot);
  const stretcher = startStretcher(spawnStretching, module);
  const owner = Owner.openStretched(slot, await stretcher.stretch(slot, "correct horse battery staple"));
  stretcher.end();
  const { client } = owner.register(descriptor, "measured", Date.now(), crypto.getRandomValues(new Uint8Array(80)));
  const { parameters } = descriptor.facts;
  labour?.end();
  labour = await sealers.hire({ workers: order.workers } as Settings, () => client.chunkerKey() as Uint8Array<ArrayBuffer>, parameters);
  const control = new Control();
  let [packs, storedBytes, ended] = [0, 0, 0];
  const gateway = {
    read: async () => null,
    time: async () => BigInt(Date.now()) * 1_000_000n,
    create: async (_patience: unknown, key: string, bytes: Uint8Array) => {
      if (key.startsWith("packs/")) [packs, storedBytes] = [packs + 1, storedBytes + bytes.length];
      return true;
    },
    // With the first question for an answer all is stored and claimed.
    receipt: async () => {
      ended ||= performance.now();
      control.cancel(0);
      return null;
    },
  };
  const nothing = { read: async () => null, write: async () => {}, remove: async () => {}, list: async () => [], create: () => Promise.reject(new Error("not here")), file: () => Promise.reject(new Error("not here")) };
  const site = {
    client, descriptor, gateway, labour, compressor: sealers.compressor, kept: nothing, sign: null, now: () => Date.now(),
    secured: async () => {},
    openView: async () => new View(null, [client.facts.domain]),
    random: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
  } as unknown as Site;
  const { source } = order;
  const scan = () => (source === "folder" ? scanned(origin, () => false) : made(source, maker));
  const run = new BackupRun(site, { host: "measured", label: "", paths: ["made"], program: "measured", bytes: null, scan }, control);
  const begun = performance.now();
  await run.run().catch((error: unknown) => {
    if (ended === 0) throw error;
  });
  const ledger: Ledger = run.ledger;
  const outcome = { seconds: (ended - begun) / 1000, bytes: ledger.bytesDone, newBytes: ledger.newBytes, storedBytes, packs, spent: { ...labour.spent } };
  client.free();
  owner.free();
  descriptor.free();
  return outcome;
}

/** Files that the maker makes. */
async function* made({ files, bytes }: { files: number; bytes: number }, maker: MessagePort): AsyncGenerator<Scanned> {
  yield { kind: "directory", path: "made" };
  // Several are asked for at once; they come in that order.
  const waiting: ((file: File) => void)[] = [];
  maker.onmessage = ({ data }: MessageEvent<File>) => waiting.shift()?.(data);
  for (let number = 0; number < files; number++) {
    const open = () =>
      new Promise<File>((resolve) => {
        waiting.push(resolve);
        maker.postMessage({ number, bytes });
      });
    yield { kind: "file", path: `made/${String(number).padStart(6, "0")}`, size: bytes, modified: MODIFIED, open };
  }
}

function bytesOf(digits: string): Uint8Array {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** What the maker's files say of when they were changed. */
const MODIFIED = 1_700_000_000_000;
