export interface CopalError extends Error { readonly name: "CopalError"; readonly code: ErrorCode }
export type ErrorCode =
  // opening
  | "wrong-passphrase" | "bad-passphrase" | "bad-recovery-code" | "slot-damaged" | "slot-other" | "no-memory"
  | "descriptor-damaged" | "other-owner" | "unsupported-version"
  // clients
  | "bad-enrollment" | "enrollment-used" | "client-revoked" | "client-unknown" | "client-damaged" | "kept-damaged"
  // reading
  | "root-gone"          // what a root names is gone: a newer root is there; ask the gateway for the index again
  | "damaged" | "absent" | "needs-owner" | "bad-path" | "bad-id"
  // backing up
  | "out-of-order" | "bad-entry" | "session-used-up" | "seal-failed"
  // changing
  | "chain-lost"         // the chain of changes lacks one that was met
  | "bad-tags"
  // administration
  | "bad-invitation" | "key-in-use" | "last-key"
  | "bad-policy"
  | "too-long"           // the descriptions of a write-only client's snapshots
  // the caller broke an order of calls told below
  | "misuse";
export interface Read { key: string; start: number; /** Exclusive; null: the whole object. */ end: number | null }
export interface DescriptorFacts {
  version: number; repository: string; created: number; owner: string /* fingerprint */; ingest: "service" | "client";
  sharedDomain: string; reader: string | null; parameters: Parameters;
}
export interface Parameters {
  chunkMin: number; chunkAverage: number; chunkMax: number; blockTarget: number; packTarget: number; inlineMax: number; zstdLevel: number;
}
export interface RequestToSign {
  method: string; /** The whole address with scheme, host, port and query. */ url: string;
  /** SHA-256 of the body; of nothing where there is none. */ sha256: Uint8Array;
  /** Seconds. */ created: number; expires: number; /** 16 random bytes. */ nonce: Uint8Array;
}
export interface SignedHeaders { "content-digest": string; "signature-input": string; signature: string }
/** A version of a client's record, to be created under both names. */
export interface NextRecord { keys: string[]; bytes: Uint8Array<ArrayBuffer> }
/** Positions of the copies of key slots to try, one of each slot, the cheapest first. */
export interface SlotsToTry { tries: number[]; isDamaged: boolean; /** Slots are left out that ask for very much, or are another repository's. */ isCostly: boolean }
