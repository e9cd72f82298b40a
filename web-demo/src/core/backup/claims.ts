//! Claims: the manifests of one run.

import { isSame } from "../bytes";
import type { Backup, Claimed } from "../engine";
import type { Patience } from "../gateway/retry";
import { stored } from "../gateway/stored";
import { failure } from "../problem";
import type { Site } from "./site";

/** The state has changed under the run, or another tab was faster: it begins anew and stores only what is missing. */
export class Overtaken extends Error {}

/** What one session has claimed. */
export class Claims {
  readonly numbers: number[] = [];
  snapshot: string | null = null;
  /** When the last ones were made. */
  made = performance.now();
  /** A signed manifest until it is known to be stored. The next one names it as the one before: without it the chain has a gap. */
  #pending: Claimed | null = null;
  /** Bytes of stored packs that manifests are to name, and that no stored one names yet. */
  #owed = 0;

  constructor(
    private readonly backup: Backup,
    private readonly site: Pick<Site, "gateway" | "sign">,
  ) {}

  /** Notes packs of so many bytes that manifests are to name; says whether any manifest is to be stored. */
  owe(bytes: number): boolean {
    this.#owed += bytes;
    return this.#owed > 0 || this.#pending !== null;
  }

  /** Creates the manifests that are due, one after another; gives the bytes that were owed. */
  async create(patience: Patience): Promise<number> {
    for (let isLast = false; this.#pending !== null || !isLast; ) {
      if (this.#pending === null) {
        const claim = this.backup.nextClaim();
        if (!claim) break;
        isLast = claim.isLast;
        const signature = claim.message ? await this.#sign(claim.message as Uint8Array<ArrayBuffer>) : null;
        this.#pending = this.backup.claimed(signature);
      }
      await this.#store(this.#pending, patience);
      this.#pending = null;
    }
    this.made = performance.now();
    const owed = this.#owed;
    this.#owed = 0;
    return owed;
  }

  async #store({ key, bytes, sha256, number, snapshot, partial }: Claimed, patience: Patience): Promise<void> {
    const there = await stored(this.site.gateway, patience, key, bytes, sha256);
    if (!there || !isSame(there, bytes)) throw new Overtaken();
    this.numbers.push(number);
    if (snapshot !== null && !partial) this.snapshot = snapshot;
  }

  async #sign(message: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    if (!this.site.sign) throw failure("internal", "sign");
    return this.site.sign(message);
  }
}
