//! Findings: what a check found, from the report that the service has written. Part of the interface in `api.ts`.

/** What is wrong with a thing; the service's names. */
export type Fault = "missing" | "damaged" | "dangling" | "stale";

/** What a check looks at. A device's record and a key are stored twice. */
export type Thing =
  | "pack" | "index" | "state" | "root" | "roots" | "manifest" | "receipt" | "change" | "expiry" | "deletion" | "client" | "client-copy" | "key" | "keys" | "descriptor" | "reader" | "content";

/** Findings of one kind about things of one kind. */
export interface Findings {
  /** Null for a kind that this page does not know: a newer service has written it. */
  kind: { fault: Fault; thing: Thing } | null;
  count: number;
  /** The kept snapshots that are harmed: how many, and the newest of them. */
  harmed: number;
  newest: { source: string; time: number }[];
  /** As the service has written them: the first ones. */
  told: string[];
}

/** The findings in a report, those that harm most snapshots first. What was damaged and has been replaced since is none. */
export function findingsOf(report: Record<string, unknown>, named: ReadonlyMap<string, { source: string; time: number }>): Findings[] {
  const groups = new Map<string, { kind: Findings["kind"]; told: string[]; count: number; harmed: Set<string> }>();
  const all: unknown[] = Array.isArray(report["findings"]) ? report["findings"] : [];
  for (const found of all) {
    const { kind: fault, object, why, snapshots } = (found ?? {}) as Record<string, unknown>;
    if (NO_DAMAGE.includes(fault)) continue;
    const thing = typeof object !== "string" ? null : fault === "missing" && object === "roots/" ? "roots" : thingOf(object);
    const kind = isFault(fault) && thing ? { fault, thing } : null;
    const key = kind ? `${kind.fault} ${kind.thing}` : "";
    const group = groups.get(key) ?? { kind, told: [], count: 0, harmed: new Set() };
    groups.set(key, group);
    group.count += 1;
    if (group.told.length < TOLD) group.told.push(`${written(object)}: ${written(why)}`);
    if (Array.isArray(snapshots)) for (const id of snapshots) if (typeof id === "string") group.harmed.add(id);
  }
  const newest = (ids: Set<string>) => [...ids].flatMap((id) => named.get(id) ?? []).sort((a, b) => b.time - a.time).slice(0, NEWEST);
  return [...groups.values()]
    .map(({ kind, told, count, harmed }) => ({ kind, told, count, harmed: harmed.size, newest: newest(harmed).map(({ source, time }) => ({ source, time })) }))
    .sort((a, b) => b.harmed - a.harmed);
}

/** What an object is, by its name; null for a name that this page does not know. */
export function thingOf(object: string): Thing | null {
  const [folder, ...rest] = object.split("/");
  if (object === "keys/") return "keys";
  if (folder === "clients" && rest.length > 1) return "client-copy";
  if (rest.length > 0) return Object.hasOwn(FOLDERS, folder!) ? FOLDERS[folder!]! : null;
  // A pack that only the index names, and what a page refers to, have no folder.
  return /^[0-9a-f]{48}$/.test(object) ? "content" : /^[0-9a-f]{64}$/.test(object) ? "pack" : null;
}

/** What a report has, as text: whoever writes to the store may have put anything there. */
function written(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function isFault(fault: unknown): fault is Fault {
  return FAULTS.some((one) => one === fault);
}

export const FAULTS: readonly Fault[] = ["missing", "damaged", "dangling", "stale"];
/** A pack that was damaged, and that nothing needs any more; a record whose loss the owner has accepted. */
export const NO_DAMAGE: readonly unknown[] = ["replaced", "accepted"];
/** The folders of a repository that a check looks at. */
export const FOLDERS: Record<string, Thing> = {
  packs: "pack", moved: "pack", index: "index", state: "state", roots: "root", manifests: "manifest", receipts: "receipt", changes: "change",
  expiries: "expiry", deletions: "deletion", clients: "client", keys: "key", copal: "descriptor", reader: "reader",
};
const TOLD = 100;
const NEWEST = 3;
