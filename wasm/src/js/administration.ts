/** A key slot of which there is a copy. `kind` and `created` are null where no copy is whole. */
export interface KeySlotFacts {
  slot: string; kind: "passphrase" | "recovery-code" | "key-file" | null; created: number | null;
  /** Its copies that are not whole. */ faults: { key: string; why: "missing" | "damaged" }[];
}
/** Whom to let in: times in milliseconds by the store's clock; `page` is the gateway's origin. */
export interface Wanted { name: string; role: "full" | "write-only"; now: number; expires: number; page: string }
/** A device that waits to join. `picture`: the QR code of the link, row by row, 1 is dark. */
export interface Waiting {
  client: string; record: NextRecord; line: string; link: string; expires: number; picture: { width: number; dark: Uint8Array<ArrayBuffer> };
}
/** What the policy says if snapshots are forgotten: how long (seconds; null: no policy) prune leaves what nothing needs, and
 * which of them stay all the same: held, one of the last of a series, or too young. */
export interface Guard { grace: number | null; stays: { id: string; by: "hold" | "last" | "young"; until: number | null }[] }
/** A policy; of the periods last, hourly, daily, weekly, monthly, quarterly and yearly: numbers (below 0: no rule; infinite: all) and
 * spans such as "1y2m3d4h". `change`: the number of the change that set it. Times in seconds. */
export interface PolicyFacts {
  change: number; counts: number[]; spans: (string | null)[]; /** The newest and the oldest of each day stay. */ dayFloor: string | null; tags: string[][]; zone: string;
  grace: number; checkParts: number; floorLast: number; floorAge: number; hold: HoldFacts | null;
}
/** What a person sets of a policy. `counts` as in `PolicyFacts`. What is undefined stays as the policy in force has it. `tags`: sets of ids. */
export interface RulesFacts {
  counts: Float64Array; within: string | null; floorLast: number; floorAge: number;
  tags?: string[][]; hold?: HoldFacts | null; grace?: number; zone?: string;
}
/** What raises a hold: a change of so many percent of at least so many bytes. */
export interface HoldFacts { share: number; least: number }
/** The guard of replaced policies that still counts. */
export interface LingersFacts { until: number; floorLast: number; floorAge: number; hold: HoldFacts | null }
/** A suspicious snapshot, which holds its series. `now`: what it has, or what was stored for it. */
export interface HeldFacts { id: string; series: string; accepted: number; why: { kind: "entries" | "bytes" | "rewritten"; before: number; now: number } }
export interface ProtectionFacts { by: "hold" | "last" | "young"; until: number | null }
export interface ReasonFacts {
  kind: "no-rule" | "pinned" | "tagged" | "within" | "counted" | "oldest" | "counted-within" | "day-floor"; period: string | null; nth: number | null; span: string | null;
}
/** A kept snapshot: whether it expires now, or later, once a replaced policy guards it no longer; what keeps it. */
export interface WeighedFacts { id: string; series: string; time: number; goes: boolean; goesLater: boolean; reasons: ReasonFacts[]; protection: ProtectionFacts | null }
/** What becomes of the snapshots. `freed`: forgotten ones that prune may remove then, and may not now. */
export interface ForesightFacts { snapshots: WeighedFacts[]; freed: string[]; held: HeldFacts[]; lingers: LingersFacts | null }
