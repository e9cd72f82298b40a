//! Administration: what needs the owner's passphrase again. The rules are those of api.ts.

/** What can be done. `confirm` opens a key slot; from then on the owner's secret is there, until `end`, the next `confirm` or a lock. */
export interface Acts {
  confirm(secret: Confirmation): Promise<Confirmed>;
  /** Forgets the owner's secret. */
  end(): Promise<void>;
}
export type Act = keyof Acts;

/** What opens a key slot, typed again. */
export type Confirmation = { by: "passphrase"; passphrase: string } | { by: "recovery-code"; code: string };

export interface Confirmed {
  /** The key slot that it opened. */
  slot: string;
}
