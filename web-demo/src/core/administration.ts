//! Administration: what is kept, and what needs the owner's passphrase again. The rules are those of api.ts.

import type { Decision, Foresight, Hold, Kept, Plan } from "./keeping";
import type { Changed, Guard } from "./snapshots";

/** What can be done. `confirm` opens a key slot; from then on the owner's secret is there, until `end`, the next `confirm` or a lock.
 * What changes something fails with "not-confirmed" before that. */
export interface Acts {
  confirm(secret: Confirmation): Promise<Confirmed>;
  /** Forgets the owner's secret. */
  end(): Promise<void>;

  /** All key slots, the oldest first; needs no confirmation. */
  keys(): Promise<Key[]>;
  /** A new recovery code. Nothing is stored until it is added. */
  draftRecoveryCode(): Promise<string>;
  /** Adds a key: stores both copies of its slot, reads them back and opens it. Only then `replaces` is removed. */
  addKey(secret: NewKey, replaces: string | null): Promise<{ slot: string }>;
  /** Removes a key; never the one that was confirmed with, so never the last. */
  removeKey(slot: string): Promise<void>;

  /** Lets another device join, once. What it is given is told here and nowhere else. */
  invite(invitation: Invitation): Promise<Invited>;

  // ---- what is kept: needs no passphrase
  kept(): Promise<Kept>;
  holds(): Promise<Hold[]>;
  /** What would become of the snapshots. Fails with "policy-changed" for rules that were made from others than `kept` finds now. */
  foresee(plan: Plan): Promise<Foresight>;
  /** Signs and stores what was foreseen, as `changeSnapshots` does. Fails with "policy-changed" if more would go by now, or other rules
   * are in force. */
  decide(decision: Decision, device: string | null): Promise<Changed>;
  /** What the policy says about these snapshots if they are forgotten. */
  guard(snapshots: string[]): Promise<Guard>;
}
export type Act = keyof Acts;

/** What opens a key slot, typed again. */
export type Confirmation = { by: "passphrase"; passphrase: string } | { by: "recovery-code"; code: string };

/** What is to open a new key slot. */
export type NewKey = Confirmation;

export interface Confirmed {
  /** The key slot that it opened. */
  slot: string;
}

/** A key slot: whoever has its passphrase, code or file has the whole repository. */
export interface Key {
  slot: string;
  /** Null where no copy is whole. */
  kind: "passphrase" | "recovery-code" | "key-file" | null;
  created: number | null;
  /** What is wrong with copies; empty: both are whole. */
  faults: ("missing" | "damaged")[];
  /** It has opened this page. */
  isCurrent: boolean;
}

export interface Invitation {
  name: string;
  role: "full" | "write-only";
  /** How long it may be used, 90 at most. */
  days: number;
}

export interface Invited {
  client: string;
  /** For a browser: opens this page there, and joins. */
  link: string;
  /** For `copal client join`. */
  line: string;
  expires: number;
  /** The QR code of the link, row by row; 1 is dark. */
  picture: { width: number; dark: Uint8Array };
}

/** Problems of administration only. */
export type AdministrationCode = "not-confirmed" | "key-in-use" | "last-key" | "key-gone" | "key-unproven" | "invitation-malformed" | "invitation-name-taken";
