//! Output: what a session gives out: blocks on their way to the workers and back, packs on their way to the server.

import { release } from "../buffers";
import type { Backup } from "../engine";
import { Pace } from "../gateway/pace";
import { type Patience } from "../gateway/retry";
import { Uploads } from "../gateway/uploads";
import { failure } from "../problem";
import type { Control } from "../coordinator/control";
import type { Block } from "../work/protocol";
import { Held } from "./held";
import type { Ledger } from "./progress";
import type { Site } from "./site";

/** What one session gives out. */
export class Output {
  /** Packs that were stored. */
  packs = 0;
  #pace = new Pace();
  /** Bytes gone of each pack that is on its way. */
  #gone = new Map<number, number>();
  #held = new Held();
  #seals: Uploads;
  #uploads: Uploads;

  constructor(
    private readonly backup: Backup,
    private readonly site: Pick<Site, "labour" | "gateway">,
    private readonly control: Control,
    private readonly ledger: Ledger,
    private readonly patience: () => Patience,
  ) {
    // So many blocks are with workers that none waits for the other, and no more.
    this.#seals = new Uploads(2 * site.labour.workers + 1);
    const { uploads, pack } = this.#pace.load;
    this.#uploads = new Uploads(uploads);
    backup.aim(pack);
  }

  /** Takes the next chunks of a file; what is new of them is kept until its block is sealed. */
  take(ids: Uint8Array, lengths: Uint32Array, bytes: Uint8Array): void {
    this.#held.add(bytes, lengths, this.backup.chunks(ids, lengths));
  }

  /** What was taken may be overwritten now. */
  keep(): void {
    this.#held.keep();
  }

  /** Does what the session has asked for, as far as there is room; `between` after each pack, which may have waited long. */
  async pump(between: () => Promise<void> = async () => {}): Promise<void> {
    for (const action of this.backup.actions()) {
      if (action.type === "seal") {
        const { counter, kind, ids, lengths } = action;
        const raw = (action.raw as Uint8Array<ArrayBuffer> | null) ?? this.#held.block(lengths);
        await this.#seals.add(() => this.#seal({ counter, kind, ids, lengths, raw }));
      } else {
        this.ledger.packedBytes += action.bytes.length;
        await this.#uploads.add(() => this.#store(action.number, action.bytes as Uint8Array<ArrayBuffer>));
        await between();
      }
    }
  }

  /** Whether what is packed takes so long on its way that nothing should wait for it. */
  get isSlow(): boolean {
    const { packedBytes, storedBytes } = this.ledger;
    const { rate } = this.#pace;
    return rate !== null && (packedBytes - storedBytes) / rate > SOON;
  }

  /** Ends once everything is sealed, packed and stored. */
  async settle(): Promise<void> {
    for (let hasClosed = false; ; ) {
      await this.pump();
      if (this.#seals.size > 0) await this.#seals.some();
      // The last packs are closed by this, and named and stored then.
      else if (this.backup.isIdle) break;
      else if (this.#uploads.size > 0) await this.#uploads.all();
      else if (hasClosed) throw failure("internal", "seal");
      else hasClosed = true;
    }
    await this.#uploads.all();
  }

  /** Ends once nothing is under way, whatever became of it. */
  async end(): Promise<void> {
    await this.#seals.all().catch(() => {});
    await this.#uploads.all().catch(() => {});
  }

  async #seal(block: Block): Promise<void> {
    const { ledger } = this;
    ledger.rawBytes += block.raw.length;
    const { stored, raw } = await this.site.labour.seal(block);
    this.backup.sealed(block.counter, stored);
    this.#held.reuse(raw);
    ledger.sealedBytes += stored.length;
    release(stored.buffer);
  }

  async #store(number: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const { gateway } = this.site;
    const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const key = this.backup.named(number, sha256);
    const patience = this.patience();
    await this.control.gate();
    const begun = performance.now();
    let arrived = 0;
    this.#pace.begin();
    try {
      const isNew = await gateway.create(patience, key, bytes, sha256, (gone) => this.#sent(number, gone));
      // The name is the bytes' hash, so an answer was lost; what is there must be whole.
      if (!isNew && (await gateway.length(patience, key)) !== bytes.length) throw failure("damaged", key);
      arrived = bytes.length;
    } finally {
      this.#pace.end(arrived);
    }
    const { uploads, pack } = this.#pace.load;
    this.#uploads.most = uploads;
    this.backup.aim(pack);
    this.backup.stored(number);
    this.ledger.uploadMs += performance.now() - begun;
    this.ledger.storedBytes += bytes.length;
    this.#sent(number, 0);
    this.#gone.delete(number);
    this.packs += 1;
  }

  #sent(number: number, gone: number): void {
    this.#gone.set(number, gone);
    let onWay = 0;
    for (const bytes of this.#gone.values()) onWay += bytes;
    this.ledger.sentBytes = Math.min(this.ledger.storedBytes + onWay, this.ledger.packedBytes);
  }
}

/** Seconds that a claim waits for what is on its way. */
const SOON = 5;
