//! Claims: the manifests of one run.

import type { Backup } from "../engine";
import type { Patience } from "../gateway/retry";
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

  constructor(
    private readonly backup: Backup,
    private readonly site: Pick<Site, "gateway" | "sign">,
  ) {}

  /** Creates the manifests that are due, one after another. */
  async create(patience: Patience): Promise<void> {
    const { gateway } = this.site;
    for (let isLast = false; !isLast; ) {
      const claim = this.backup.nextClaim();
      if (!claim) break;
      isLast = claim.isLast;
      const signature = claim.message ? await this.#sign(claim.message as Uint8Array<ArrayBuffer>) : null;
      const made = this.backup.claimed(signature);
      const bytes = made.bytes as Uint8Array<ArrayBuffer>;
      if (!(await gateway.create(patience, made.key, bytes, made.sha256))) {
        const there = await gateway.read(patience, made.key);
        if (!there || !isEqual(there, bytes)) throw new Overtaken();
      }
      this.numbers.push(made.number);
      if (made.snapshot !== null && !made.partial) this.snapshot = made.snapshot;
    }
    this.made = performance.now();
  }

  async #sign(message: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    if (!this.site.sign) throw failure("internal", "sign");
    return this.site.sign(message);
  }
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
