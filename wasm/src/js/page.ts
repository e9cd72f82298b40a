export interface Joined { client: Client; record: { key: string; bytes: Uint8Array<ArrayBuffer> } }
/** For keys in WebCrypto: sign `message` (Ed25519), then `signature: "copal=:" + base64(64 bytes) + ":"`. */
export interface UnsignedHeaders { "content-digest": string; "signature-input": string; message: Uint8Array<ArrayBuffer> }
export interface EnrollmentFacts {
  repository: string; client: string; role: "full" | "write-only"; address: string; owner: string; /** Milliseconds, by the store's clock. */ expires: number;
}
export interface ClientFacts {
  repository: string; client: string; domain: string; role: "full" | "write-only"; address: string | null; owner: string | null;
  /** Whether WebCrypto holds the key. */ hostSigns: { manifests: boolean; requests: boolean };
}
export interface SnapshotState {
  id: string; client: string; number: number; domain: string; source: string; partial: boolean; time: number; accepted: number;
  state: "kept" | "forgotten" | "gone"; pinned: boolean;
}
export interface Statistics {
  packs: number; dataBytes: number; treeBytes: number; missing: number; damaged: number; segments: number; indexEntries: number;
  /** When each pack was accepted and how long it is, summed by day (ms at its start), oldest first. */
  growth: { time: number; bytes: number }[];
  /** Oldest and newest time that a pack was last read whole by a check; null if never. */
  checked: { oldest: number | null; newest: number | null; packs: number };
}
export interface ReceiptFacts {
  number: number; outcome: "accepted" | "rejected"; by: "service" | "client"; root: number; time: number; manifest: string;
  reasons: { code: number; text: string }[]; missing: number; packs: string[];
}
export interface BackupStart {
  /** 128 random bytes: session key, its wrapping, the packs' names. Overwritten by you afterwards. */ random: Uint8Array;
  /** 16 random bytes for the kept tree. */ keptRandom: Uint8Array;
  now: number; host: string; /** What was chosen, such as ["Photos"]: the first name(s) of every path. */ paths: string[]; label: string; tags: string[];
  program: string; user: string; packTarget?: number /* default 16 MiB */;
  /** Whether you may not see all entries, as in a browser: the snapshot says so, and a restore that deletes deletes nothing for it. */ hidesEntries?: boolean;
  /** The one of the module for sealing, for what the session seals itself. It must outlive the session. */
  compressor: { compress(raw: Uint8Array, level: number): Uint8Array | undefined };
}
/** Number and hash of a change. */
export interface Link { number: number; hash: string }
/** What may be done to snapshots; "forget" leaves pinned ones out. */
export type Mark = "forget" | "undelete" | "pin" | "unpin";
/** A client of the repository; `since`: when it joined, was invited or was revoked (the number of its last good manifest). */
export interface DeviceFacts {
  client: string; name: string | null; role: "full" | "write-only"; since: number; hasJoined: boolean; /** Until when it may join. */ expires: number | null; revoked: number | null;
  /** Every version of its record can be believed. */ isWhole: boolean;
}
export interface FileFacts { path: string; size: number; /** Milliseconds. */ modified: number; kind?: "file" | "directory" }
/** Facts of many files, made by `inColumns`: UTF-8 with a zero byte between two paths; kinds: 1 for a directory. */
export interface FactsColumns { paths: Uint8Array; sizes: Float64Array; times: Float64Array; kinds: Uint8Array }
/** Facts of files as `Backup.compare` takes them: all at once, since every call and every text costs. */
export function inColumns(facts: FileFacts[]): FactsColumns;
export type Action =
  /** Hand it to a Sealer, then `sealed` or `seal`. In any order, as many at once as you like. `raw` is there for pages; for
   * data it is the bytes of the chunks that `chunks` has told to be new, in the same order. */
  | { type: "seal"; counter: number; kind: "data" | "tree"; /** 24·n bytes. */ ids: Uint8Array<ArrayBuffer>; lengths: Uint32Array<ArrayBuffer>; raw: Uint8Array<ArrayBuffer> | null }
  /** Hand the SHA-256 to `named`, and upload under the key that it gives. Be done before nextClaim. */
  | { type: "store"; number: number; bytes: Uint8Array<ArrayBuffer> };
export interface Claimed { key: string; bytes: Uint8Array<ArrayBuffer>; number: number; sha256: Uint8Array<ArrayBuffer>; /** Of a snapshot or checkpoint. */ snapshot: string | null; partial: boolean }
export interface Claim { number: number; /** To be signed by WebCrypto; null: the engine signs. */ message: Uint8Array<ArrayBuffer> | null; isLast: boolean }
export interface Tally {
  files: number; directories: number; bytes: number; unchangedFiles: number; newFiles: number; changedFiles: number; errors: number; unchangedBytes: number;
  /** Plaintext of chunks that were new; chunks that were known are the rest of what was read. */ newBytes: number; knownBytes: number; newChunks: number; storedBytes: number;
}
export interface SnapshotFacts {
  id: string; client: string; clientName: string | null; role: "full" | "write-only"; number: number; domain: string; source: string; time: number; started: number; accepted: number;
  /** The machine it stands for: of a write-only client its registered name, whatever it claims. */ host: string; claimedHost: string; paths: string[]; label: string; tags: string[]; files: number; directories: number; others: number; bytes: number;
  newEntries: number; changedEntries: number; errors: number; changing: number; /** The first of these. */ unreadablePaths: string[]; changingPaths: string[]; pinned: boolean; /** When it was forgotten. */ forgotten: number | null; program: string; user: string; hasModes: boolean;
}
/** Either `needs` is not empty (supply, call again), or the answer is there. */
export interface Listing { needs: Read[]; entries: EntryFacts[]; /** For the next call; null at the end. */ next: string | null; damaged: string[] }
export interface EntryFacts {
  id: string; path: string; name: string; kind: "file" | "directory" | "symlink" | "other"; size: number; modified: number; target: string | null;
  /** st_mode's twelve bits. */ mode: number; uid: number; gid: number;
}
/** Numbers an entry that is wanted, always with the same number for one id; null: it is not wanted. `mode` is st_mode. */
export type Wants = (id: string, mode: number, size: number, modified: number) => number | null;
/** A part of what a sweep finds in tree number `tree`. Without `wants`, each version of the entries has a number, and `content` is
 * the number of the first version with the same content. `again`: numbers of entries that are in this tree too, in a page that was
 * opened before. Supply `needs`, if there are any, before the next call. */
export interface Swept {
  tree: number; needs: Read[]; found: (EntryFacts & { number: number; content: number | null })[]; again: number[]; damaged: string[];
  isDone: boolean;
}
export interface ChangeFacts { path: string; before: EntryFacts | null; after: EntryFacts | null; /** Only metadata differs. */ isMetadata: boolean }
export interface Window {
  needs: Read[];
  /** Entries that begin in this window; `file` numbers them. */
  entries: (EntryFacts & { file: number })[];
  /** Bytes of files that need no read. */
  pieces: Piece[];
  /** Ranges of packs to be fetched. Blocks in them that `sealed` tells may be opened by the host and handed to `takeOpened`; what
   * is left, `take` opens: it ends every read. */
  reads: (Read & { bytes: number })[];
  /** Files of which everything was handed over BEFORE this window (or that have no pieces): only these are whole. */
  ends: number[];
  /** What cannot be had (known so far): nothing of these files should be handed over as whole. */
  damaged: { file: number | null; path: string; why: string }[];
  isDone: boolean;
}
/** A block of a read, to be opened by AES-256-GCM with its session's key (`takeKey`): its iv, 12 bytes, comes first, its tag last. */
export interface SealedBlock { /** Where it lies in what the read gives; `end` is exclusive. */ start: number; end: number; session: number; additionalData: Uint8Array<ArrayBuffer> }
/** Bytes of a file and where in the file they lie. What no piece of a whole file covers reads as zeros. */
export interface Piece { file: number; offset: number; bytes: Uint8Array<ArrayBuffer> }
