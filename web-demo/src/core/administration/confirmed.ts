//! Confirmed: the owner's secret, opened anew for what is signed with it, and forgotten when that is done.

import type { Confirmation, Confirmed as Told } from "../administration";
import type { Decision } from "../keeping";
import type { Books } from "../restore/books";
import type { Changed } from "../snapshots";
import type { Opened } from "../coordinator/opened";
import { engineSigner } from "../coordinator/signing";
import { byPassphrase, openSlot } from "../coordinator/slots";
import type { Gateway } from "../gateway/client";
import { failure } from "../problem";
import type { Stretcher } from "../work/stretcher";
import { Descriptor, Owner } from "./engine";

/** Who asks: the repository as it was unlocked, its snapshots, what stretches a passphrase, and what signs a decision. */
export interface Desk {
  site: Opened;
  books: () => Books;
  stretcher: () => Stretcher;
  sign: (decision: Decision, device: string | null, check: (own: number | null) => Promise<void>) => Promise<Changed>;
  /** The session's key was replaced by another slot, or removed: null. What is kept for visits without a network follows. */
  opensWith: (slot: string | null, by: { slot: Uint8Array; key: Uint8Array } | null) => Promise<void>;
}

/** An opened owner's secret, and the way to the repository that it signs. */
export class Confirmed {
  readonly gateway: Gateway;

  constructor(
    private readonly site: Opened,
    readonly descriptor: Descriptor,
    readonly owner: Owner,
    /** The key slot that opened, or has taken its place. */
    public slot: string,
  ) {
    this.gateway = site.gateway.as(engineSigner((request) => owner.signRequest(request)));
  }

  isOf(site: Opened): boolean {
    return this.site === site;
  }

  /** Overwrites the secret. */
  free(): void {
    this.owner.free();
    this.descriptor.free();
  }
}

let confirmed: Confirmed | null = null;

/** The secret that was confirmed. */
export function current({ site }: Desk): Confirmed {
  if (!confirmed?.isOf(site)) throw failure("not-confirmed");
  return confirmed;
}

export const confirming = {
  async confirm({ site, stretcher }: Desk, secret: Confirmation): Promise<Told> {
    forget();
    const { known, gateway } = site;
    const find = (open: (slot: Uint8Array) => Promise<Owner>, wrong: "passphrase-wrong" | "code-malformed") => openSlot(Owner, known.facts.id, gateway, open, wrong);
    if (secret.by === "passphrase" && secret.passphrase === "") throw failure("passphrase-empty");
    const { owner, slot } =
      secret.by === "passphrase"
        ? await byPassphrase(Owner, secret.passphrase, stretcher, (open) => find(open, "passphrase-wrong"))
        : await find(async (stored) => Owner.openWithRecoveryCode(stored, secret.code), "code-malformed");
    const descriptor = new Descriptor(known.source.version, known.source.bytes);
    const opened = new Confirmed(site, descriptor, owner, slot);
    try {
      owner.check(descriptor);
    } catch (error) {
      opened.free();
      throw error;
    }
    forget();
    confirmed = opened;
    return { slot: opened.slot };
  },

  async end(): Promise<void> {
    forget();
  },
};

function forget(): void {
  confirmed?.free();
  confirmed = null;
}
