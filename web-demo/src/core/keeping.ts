//! Keeping: what is kept, and what would become of the snapshots if the owner decided otherwise. Part of the interface in `api.ts`.

/** The periods of the counted rules, in the order of the engine. */
export const PERIODS = ["last", "hourly", "daily", "weekly", "monthly", "quarterly", "yearly"] as const;
export type Period = (typeof PERIODS)[number];

/** What a person sets here. Spans are texts such as "1y2m3d4h", times seconds. */
export interface Rules {
  counts: Record<Period, number | "all" | null>;
  /** Everything not older, counted back from the newest. */
  within: string | null;
  /** So many of each series stay whatever the rules say, and all that are younger than this, forgotten ones too. */
  floorLast: number;
  floorAge: number;
}

/** What else a person sets here. */
export interface Terms {
  /** Snapshots with all tags of one set stay. Names, each set once; an id where no snapshot has the tag. */
  tags: string[][];
  hold: HoldRule | null;
  /** Seconds that prune leaves what nothing needs. */
  grace: number;
  /** Where days begin, as POSIX writes it; "" is UTC. */
  zone: string;
}

/** What a policy has that says nothing else. */
export const USUAL: Terms = { tags: [], hold: { share: 50, least: 64 * 2 ** 20 }, grace: 86_400, zone: "" };

/** Whether a tag is an id, because nobody knows its name. */
export function isTagId(tag: string): boolean {
  return /^[0-9a-f]{32}$/.test(tag);
}

/** The policy in force. What is neither among the rules nor the terms only the command sets. */
export interface Policy extends Rules, Terms {
  /** The number of the change that set it. */
  change: number;
  /** One of each hour, day and so on, not older. */
  spans: { period: Exclude<Period, "last">; span: string }[];
  /** The newest and the oldest of each day stay, whatever the rules say. */
  dayFloor: string | null;
  /** A check reads one of so many parts. */
  checkParts: number;
}

/** What makes a snapshot suspicious: so many percent of at least so many bytes are gone, or were stored anew. */
export interface HoldRule {
  share: number;
  least: number;
}

/** What replaced policies still guard. */
export interface Lingers {
  until: number;
  floorLast: number;
  floorAge: number;
  hold: HoldRule | null;
}

/** A suspicious snapshot. It holds its series: nothing of it expires or is freed. `source` and `device` are null where its
 * manifest cannot be read, or its data is gone. */
export interface Hold {
  snapshot: string;
  series: string;
  source: string | null;
  device: string | null;
  time: number;
  /** `now`: what it has, or what was stored for it. */
  why: { kind: "entries" | "bytes" | "rewritten"; before: number; now: number };
}

export interface Kept {
  policy: Policy | null;
  lingers: Lingers | null;
  holds: Hold[];
  /** Snapshots that are kept. */
  snapshots: number;
  /** The names of tags that snapshots have. */
  tags: string[];
}

/** What the owner thinks of: other rules, or to release snapshots that hold their series. Terms that are not there stay as they are. */
export type Plan = { rules: Rules; terms: Partial<Terms> } | { release: string[] };

/** What would be signed, and what was told of it. */
export interface Decision {
  plan: Plan;
  /** The policy, as it is stored. */
  policy: Uint8Array | null;
  /** The names of its tags, which the policy has only as ids. */
  tags: string[];
  /** The newest change in the state that it was weighed against; 0 where there was none. */
  before: number;
  /** The change with the policy that the rules were made from; null where there was none, and for a release. */
  base: number | null;
  release: string[];
  /** Snapshots that would go, now or later, and forgotten ones whose data would. */
  goes: string[];
}

/** What would become of the snapshots, by the engine and the facts that the service decides by. */
export interface Foresight {
  decision: Decision;
  /** Those with the newest snapshot first. */
  series: ForeseenSeries[];
  holds: Hold[];
  /** Forgotten snapshots whose data prune may free then, and may not now. */
  freed: number;
  lingers: Lingers | null;
}

export interface ForeseenSeries {
  series: string;
  source: string | null;
  device: string | null;
  /** Newest first. */
  snapshots: Foreseen[];
}

export interface Foreseen {
  id: string;
  time: number;
  /** "later": once what replaced policies guard has ended. */
  becomes: "stays" | "goes" | "later";
  reasons: Reason[];
  /** What keeps it whatever the rules say. */
  protection: { by: "hold" | "last" | "young"; until: number | null } | null;
}

/** Why the rules keep a snapshot. */
export interface Reason {
  kind: "no-rule" | "pinned" | "tagged" | "within" | "counted" | "oldest" | "counted-within" | "day-floor";
  period: Period | null;
  /** Of how many the rule has counted. */
  nth: number | null;
  span: string | null;
}
