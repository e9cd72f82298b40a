//! Backup: from a folder to a snapshot. One task scans and reads ahead, this one gives what was read to the session in
//! order, workers compress, seal and read back, a few packs are on their way at once; a manifest claims what is stored, and
//! the service answers.

import type { BackupResult } from "../api";
import { release } from "../buffers";
import type { Backup, FileFacts } from "../engine";
import { Backup as BackupClass } from "../engine";
import { brief } from "../gateway/client";
import { ENDLESS, type Patience } from "../gateway/retry";
import { failure } from "../problem";
import type { Control } from "../coordinator/control";
import { answerTo } from "./answer";
import { READINGS, beginChanging, isAsRead, settled } from "./changing";
import { Claims, Overtaken } from "./claims";
import { compareClocks } from "./clock";
import { Copies } from "./copies";
import { Output } from "./output";
import { Ledger } from "./progress";
import type { Site, Task } from "./site";
import { type Begun, type Item, type Opened, Reader, begin } from "./reading";

/** What came of it; whether it went on from an earlier run, others know. */
export type Outcome = Omit<BackupResult, "resumed"> & { /** Of its last manifest. */ number: number };

/** One backup. */
export class BackupRun {
  readonly ledger = new Ledger();
  reader: Reader | null = null;

  constructor(
    private readonly site: Site,
    private readonly task: Task,
    private readonly control: Control,
  ) {}

  /** Backs up; begins anew if what it was built on has changed meanwhile. */
  async run(): Promise<Outcome> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await new Attempt(this.site, this.task, this.control, this.ledger, (reader) => (this.reader = reader)).run();
      } catch (error) {
        if (!(error instanceof Overtaken)) throw this.control.isCancelled ? failure("cancelled") : error;
        if (attempt >= ATTEMPTS) throw failure("manifest-rejected");
      }
    }
  }
}

/** One try at a snapshot, on one state of the repository. */
class Attempt {
  #backup!: Backup;
  #isOpen = false;
  #output!: Output;
  #copies: Copies;
  #claims!: Claims;
  #checked = performance.now();
  #begun: number;

  constructor(
    private readonly site: Site,
    private readonly task: Task,
    private readonly control: Control,
    private readonly ledger: Ledger,
    private readonly announce: (reader: Reader) => void,
  ) {
    this.#begun = site.now();
    this.#copies = new Copies(site.kept);
  }

  async run(): Promise<Outcome> {
    const { ledger, control } = this;
    ledger.begin();
    let reading: Promise<void> | null = null;
    let reader: Reader | null = null;
    try {
      await this.#begin();
      ledger.phase = "scanning";
      reader = new Reader(this.#backup, this.site.labour, control);
      this.announce(reader);
      this.#expect();
      reading = reader.run(this.task.scan());
      await this.#take(reader);
      if (control.isCancelled) {
        await this.#secureStored();
        await this.#secure();
        throw failure("cancelled");
      }
      if (this.#backup.tally.files === 0 && ledger.leftOut.unreadable > 0) throw failure("folder-gone");
      if (this.#backup.tally.files === 0) throw failure("nothing-to-back-up");
      ledger.phase = "finishing";
      ledger.currentFile = null;
      this.#backup.finish();
      await this.#output.settle();
      await this.#claim();
      return await this.#finish();
    } catch (error) {
      // Whatever went wrong: what is stored by now is not sent again.
      if (this.#isOpen && !(error instanceof Overtaken)) await this.#rescue().catch(() => {});
      throw error;
    } finally {
      reader?.end(failure("cancelled"));
      await reading?.catch(() => {});
      // Nothing may come back to a session that is gone.
      if (this.#isOpen) await this.#output.end();
      await this.#copies.close();
      this.#free();
    }
  }

  /** Finds out about how much there is, for whoever watches: the last backup tells, or the list, or a count of the names. */
  #expect(): void {
    const { ledger, task } = this;
    ledger.expected = { files: null, bytes: this.#backup.expectedBytes || task.bytes };
    if (ledger.expected.bytes !== null) return;
    void task.count?.(() => !this.#isOpen).then((files) => (ledger.expected.files = files));
  }

  #free(): void {
    if (this.#isOpen) this.#backup.free();
    this.#isOpen = false;
  }

  /** Opens a session on the newest state, at the end of this client's chain. */
  async #begin(): Promise<void> {
    const { site } = this;
    const patience = this.#patience();
    for (let hasWaited = false; ; hasWaited = true) {
      await compareClocks(site.gateway, () => site.now(), patience);
      const view = await site.openView(patience);
      const random = site.random(128);
      const { host, label, paths, program } = this.task;
      const start = { random, keptRandom: site.random(16), now: this.#begun, host, paths, label, tags: [], program, user: "", hidesEntries: true, compressor: site.compressor };
      try {
        this.#backup = new BackupClass(site.client, site.descriptor, view, start);
        this.#isOpen = true;
        this.#claims = new Claims(this.#backup, site);
        this.#output = new Output(this.#backup, site, this.control, this.ledger, () => this.#patience());
      } finally {
        random.fill(0);
        // The session keeps what it needs of it.
        view.free();
      }
      for (let key = this.#backup.nextManifest(); key !== null && key !== undefined; key = this.#backup.nextManifest()) {
        this.#backup.manifest((await site.gateway.read(patience, key)) ?? undefined!);
      }
      const last = Array.from(this.#backup.undecided).at(-1);
      if (last === undefined || hasWaited) break;
      // What earlier runs have uploaded is known once it was decided.
      this.#free();
      await this.#receipt(Number(last), EARLIER_WAIT);
    }
    const parent = (bytes: Uint8Array) => this.#backup.parent(bytes);
    await this.#copies.open(this.#backup.source, this.#begun, parent);
    const key = this.#backup.takeBlockKey() as Uint8Array<ArrayBuffer>;
    const cipher = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]);
    key.fill(0);
    site.labour.begin({ cipher, key: () => this.#backup.sealerKey() as Uint8Array<ArrayBuffer> });
  }

  /** Takes what was read, in order. */
  async #take(reader: Reader): Promise<void> {
    for await (const item of reader.items) {
      await this.control.gate();
      if (this.control.isCancelled) return;
      if (reader.found.isComplete && this.ledger.phase === "scanning") this.ledger.phase = "uploading";
      await this.#item(item, reader);
    }
  }

  async #item(item: Item, reader: Reader): Promise<void> {
    const { ledger } = this;
    switch (item.kind) {
      case "left-out":
        // What is left out on purpose does not make the snapshot an incomplete one.
        if (item.found.why !== "excluded") this.#backup.miss(item.found.path);
        ledger.leave(item.found.path, item.found.why, item.found.detail);
        return;
      case "same":
        this.#backup.takeSame(item.entries);
        ledger.filesDone += item.files;
        ledger.unchangedFiles += item.files;
        ledger.unchangedBytes += item.bytes;
        ledger.bytesDone += item.bytes;
        return;
      case "read":
        ledger.currentFile = item.facts.path;
        try {
          const opened = await item.result;
          await this.#file(item.facts, item.open, opened);
          await this.#pump();
          if (opened.spent) this.#release(opened.spent);
        } finally {
          reader.taken(item);
        }
        break;
      case "stream":
        ledger.currentFile = item.facts.path;
        try {
          await this.#large(item.facts, item.open, item.begun);
          await this.#pump();
        } finally {
          reader.taken(item);
        }
        break;
    }
    ledger.filesDone += 1;
    await this.#secureIfDue();
  }

  /** Gives back what files came in that were taken. */
  #release(buffer: ArrayBuffer): void {
    this.#output.keep();
    release(buffer);
  }

  /** Takes a file that was read whole. */
  async #file(facts: FileFacts, open: () => Promise<File>, opened: Opened): Promise<void> {
    const { found, isChanging } = await settled(opened, open, this.site.labour);
    const { read } = found;
    if (read.kind === "failed") {
      this.#backup.fail();
      this.ledger.leave(facts.path, "unreadable", read.reason);
      return;
    }
    const now = { path: facts.path, size: found.size, modified: found.modified };
    this.ledger.readBytes += found.size;
    this.ledger.bytesDone += found.size;
    if (read.kind === "inline") {
      this.#backup.inline(now, read.bytes);
    } else {
      this.#backup.begin();
      this.#output.take(read.ids, read.lengths, read.bytes);
      this.#backup.end(now);
    }
    if (isChanging) this.#changing(facts.path);
    this.ledger.newBytes = this.#backup.tally.newBytes;
  }

  #changing(path: string): void {
    this.#backup.changing(path);
    this.ledger.leave(path, "changing");
  }

  /** Takes a large file, window by window. One that changes meanwhile is read anew; at last as it comes. */
  async #large(facts: FileFacts, open: () => Promise<File>, ahead: Promise<Begun>): Promise<void> {
    const { ledger } = this;
    this.#backup.begin();
    for (let left = READINGS, begun = ahead; ; begun = (--left > 1 ? begin : beginChanging)(open, this.site.labour)) {
      const before = ledger.bytesDone;
      try {
        const { modified, windows } = await begun;
        let size = 0;
        for await (const { ids, lengths, bytes } of windows) {
          await this.control.gate();
          // What has come of it is claimed with the rest.
          if (this.control.isCancelled) return;
          this.#output.take(ids, lengths, bytes);
          size += bytes.length;
          ledger.readBytes += bytes.length;
          ledger.bytesDone += bytes.length;
          ledger.newBytes = this.#backup.tally.newBytes;
          await this.#pump();
          this.#release(bytes.buffer);
          await this.#secureIfDue();
        }
        const isChanging = !(await isAsRead(open, { size, modified }));
        if (isChanging && left > 1) throw new DOMException("changed", "NotReadableError");
        this.#backup.end({ path: facts.path, size, modified });
        if (isChanging) this.#changing(facts.path);
        return;
      } catch (error) {
        if (!(error instanceof DOMException) || error.name === "AbortError") throw error;
        ledger.bytesDone = before;
        if (left <= 1) {
          this.#backup.fail();
          ledger.leave(facts.path, "unreadable", error.name);
          return;
        }
        this.#backup.again();
      }
    }
  }

  async #secureIfDue(): Promise<void> {
    if (!this.#isDue) return;
    if (this.#takesStoredOnly) await this.#secureStored();
    else await this.#secure();
  }

  /** Gives out what there is. A window of a file is several packs: on a slow line what is stored is claimed before the rest has gone. */
  async #pump(): Promise<void> {
    await this.#output.pump(async () => {
      if (this.#isDue && this.#takesStoredOnly) await this.#secureStored();
    });
  }

  get #isDue(): boolean {
    const { unlisted } = this.#backup;
    const every = Math.min(FIRST_MANIFEST * 2 ** this.#claims.numbers.length, MANIFEST_EVERY);
    return unlisted >= MANIFEST_PACKS || (unlisted > 0 && performance.now() - this.#claims.made >= every);
  }

  /** Whether a claim takes only what is stored. A checkpoint waits for what is on its way, but only what a tree refers to does a
   * prune keep for long. */
  get #takesStoredOnly(): boolean {
    return this.#output.isSlow && performance.now() - this.#checked < CHECKPOINT_EVERY;
  }

  /** Claims what is stored at a failure; what is on its way may arrive for some seconds. */
  async #rescue(): Promise<void> {
    await Promise.race([this.#output.end(), new Promise((resolve) => setTimeout(resolve, ARRIVING))]);
    await this.#secureStored(brief(this.control.claimSignal));
  }

  /** Claims the packs that are stored, and waits for none that is on its way. Also stores a manifest whose request broke off. */
  async #secureStored(patience = this.#patience()): Promise<void> {
    if (!this.#claims.owe(this.#backup.claimStored())) return;
    this.ledger.secure(await this.#claims.create(patience));
    await this.site.secured(this.ledger.securedBytes);
  }

  /** Claims what is stored so far, so that it is not lost if the tab is closed now. */
  async #secure(): Promise<void> {
    if (this.#backup.tally.newBytes === 0 && this.#backup.unlisted === 0) return;
    this.#backup.checkpoint();
    await this.#output.settle();
    await this.#claim();
    this.#checked = performance.now();
  }

  /** Claims all that was taken. */
  async #claim(): Promise<void> {
    await this.#claims.create(this.#patience());
    this.ledger.secure("all");
    await this.site.secured(this.ledger.securedBytes);
    await this.#copies.add(() => this.#backup.takeKept());
  }

  /** Waits for the answers, and puts the new copy in the place of the older ones. */
  async #finish(): Promise<Outcome> {
    const { ledger } = this;
    ledger.phase = "verifying";
    let isVerified = true;
    for (const number of this.#claims.numbers) {
      const answer = await this.#receipt(number, RECEIPT_WAIT);
      if (answer === "rejected") throw new Overtaken();
      isVerified = answer === "accepted";
      if (!isVerified) break;
    }
    await this.#copies.replace();
    const { tally } = this.#backup;
    const { snapshot } = this.#claims;
    if (snapshot === null) throw failure("internal", "snapshot");
    return {
      snapshot,
      number: this.#claims.numbers.at(-1)!,
      time: this.#begun,
      seconds: (performance.now() - ledger.begun) / 1000,
      files: tally.files,
      newFiles: tally.newFiles,
      changedFiles: tally.changedFiles,
      unchangedFiles: tally.unchangedFiles,
      bytes: tally.bytes,
      newBytes: tally.newBytes,
      knownBytes: tally.knownBytes,
      storedBytes: ledger.storedBytes,
      packs: this.#output.packs,
      receipt: isVerified ? "verified" : "waiting",
      leftOut: { ...ledger.leftOut, examples: [...ledger.leftOut.examples] },
    };
  }

  #receipt(number: number, wait: number): Promise<"accepted" | "rejected" | "waiting"> {
    const { gateway, client } = this.site;
    return answerTo(gateway, client.facts.client, number, wait, this.control, () => this.#patience());
  }

  #patience(): Patience {
    return { tries: ENDLESS, signal: this.control.signal, onWait: (waiting) => (this.ledger.waiting = waiting) };
  }
}

/** A rejection means that the state has changed meanwhile: more often than this in a row is a fault. */
const ATTEMPTS = 4;
/** What a manifest lists, and how long what is stored waits for one. */
const MANIFEST_PACKS = 64;
const MANIFEST_EVERY = 120_000;
/** The first one comes sooner, and each of the next waits twice as long: tabs are closed soon, if at all. */
const FIRST_MANIFEST = 15_000;
/** Milliseconds that packs on their way have after a failure. */
const ARRIVING = 10_000;
/** On a slow line, milliseconds between two checkpoints. */
const CHECKPOINT_EVERY = 600_000;
/** How long the service's answers are waited for: to this backup, and to what earlier ones have left. */
const RECEIPT_WAIT = 60_000;
const EARLIER_WAIT = 20_000;
