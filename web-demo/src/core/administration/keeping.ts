//! Keeping: the policy in force and what another decision would let go, computed by the engine from the newest state.

import type { Changed, Guard } from "../snapshots";
import { type Decision, type Foreseen, type Foresight, type Hold, type Kept, type Lingers, PERIODS, type Plan, type Policy, type Reason, isTagId } from "../keeping";
import type { Opened } from "../coordinator/opened";
import type { SnapshotFacts } from "../engine";
import { brief } from "../gateway/client";
import { failure } from "../problem";
import { snapshotOf } from "../restore/shown";
import type { Desk } from "./confirmed";
import { type ForesightFacts, type HeldFacts, Keeping, type PolicyFacts } from "./engine";

/** A state that was read: what one plan after another is weighed against. */
interface Read {
  site: Opened;
  /** The name of the root that it was read from. */
  root: string | null;
  /** The change with the policy that `kept` has told: a person makes other rules from it. */
  told: number | null;
  keeping: Keeping;
  /** Snapshots by their ids; of which series nothing can be read there is none. */
  names: Map<string, Named>;
  series: Map<string, Named>;
  tags: Map<string, string>;
}

interface Named {
  source: string;
  device: string;
  time: number;
}

let read: Read | null = null;

export const keepings = {
  async kept(desk: Desk): Promise<Kept> {
    const now = await timeOf(desk.site);
    const state = await readNewest(desk);
    const { keeping, tags } = state;
    const facts = keeping.policy();
    return {
      policy: facts && policyOf(facts, tags),
      lingers: keeping.lingers(now) as Lingers | null,
      holds: keeping.held(now).map(held(state)),
      snapshots: keeping.kept,
      tags: [...new Set(tags.values())].sort(),
    };
  },

  /** The snapshots that hold their series. What `kept` has read stays as it is. */
  async holds({ site, books }: Desk): Promise<Hold[]> {
    const [keeping] = await openKeeping(site);
    try {
      const found = keeping.held(await timeOf(site));
      return found.length === 0 ? [] : found.map(held(await names(keeping, await books().everything())));
    } finally {
      keeping.free();
    }
  },

  /** Weighs a plan against the newest state. Rules must be made from the policy that `kept` has told. */
  async foresee(desk: Desk, plan: Plan): Promise<Foresight> {
    const { site } = desk;
    const now = await timeOf(site);
    const newest = await site.gateway.newestRoot(brief());
    if (read?.site !== site) await readNewest(desk);
    else if (read.root !== newest) await readNewest(desk, read.told);
    const { keeping, told } = read!;
    const before = keeping.head;
    if ("release" in plan) return foresightOf(read!, keeping.foreseeRelease(plan.release, now), { plan, policy: null, tags: [], before, base: null, release: plan.release });
    const { counts, ...rules } = plan.rules;
    const policy = keeping.policy();
    if ((policy?.change ?? null) !== told) throw failure("policy-changed");
    // Tags that stay are looked up anew: devices with data of their own may have come since the policy was set.
    const { tags = policy?.tags.length ? policyOf(policy, read!.tags).tags : undefined, ...terms } = plan.terms;
    const numbers = PERIODS.map((period) => numberOf(counts[period]));
    const facts = keeping.foresee({ ...rules, ...terms, counts: Float64Array.from(numbers), ...(tags && { tags: await tagIds(desk, tags) }) }, now);
    return foresightOf(read!, facts, { plan, policy: facts.policy, tags: [...new Set(tags?.flat())].filter((tag) => !isTagId(tag)), before, base: told, release: [] });
  },

  /** Has a decision signed, unless changes since it was weighed make it let go what was said to stay, or undo what somebody else has
   * set. Devices sign changes that do neither: a backup may prove packs of others. */
  async decide(desk: Desk, decision: Decision, device: string | null): Promise<Changed> {
    const { site, sign } = desk;
    const told = new Set(decision.goes);
    const check = async (own: number | null) => {
      const [keeping] = await openKeeping(site);
      const { head } = keeping;
      keeping.free();
      if (head === (own ?? decision.before)) return;
      const { decision: newer } = await keepings.foresee(desk, decision.plan);
      const isSame = newer.base === decision.base && String(newer.policy) === String(decision.policy);
      if (!isSame || newer.goes.some((id) => !told.has(id))) throw failure("policy-changed");
    };
    await check(null);
    const changed = await sign(decision, device, check);
    forget();
    return changed;
  },

  /** What the policy says about snapshots if they are forgotten. */
  async guard({ site }: Desk, snapshots: string[]): Promise<Guard> {
    const [keeping] = await openKeeping(site);
    const guard = keeping.guard(snapshots, await timeOf(site));
    keeping.free();
    return guard;
  },
};

/** Reads the newest state. `told`: the change with the policy that the page shows already. */
async function readNewest({ site, books }: Desk, told?: number | null): Promise<Read> {
  const [keeping, root] = await openKeeping(site);
  const found = await names(keeping, await books().everything());
  const facts = keeping.policy();
  // Tags of the policy that no snapshot has: their names are in a change, perhaps an old one.
  if (facts?.tags.flat().some((id) => !found.tags.has(id))) {
    const { names, domains } = await books().tagIds([...found.tags.values()], true);
    for (const ids of domains) names.forEach((name, at) => found.tags.set(ids[at]!, name));
  }
  forget();
  return (read = { site, root, told: told === undefined ? (facts?.change ?? null) : told, keeping, ...found });
}

/** The newest state and the name of its root, and the policy in force, which the owner must have signed. */
async function openKeeping(site: Opened): Promise<[Keeping, string | null]> {
  const { version, bytes } = site.known.source;
  let name: string | null = null;
  const keeping = await site.readNewest((root) => new Keeping(version, bytes, (name = root)), brief());
  try {
    const policy = keeping.policyName;
    if (policy !== undefined) keeping.supplyPolicy(await site.gateway.read(brief(), policy));
    return [keeping, name];
  } catch (error) {
    keeping.free();
    throw error;
  }
}

/** The store's time, by which the service decides. */
async function timeOf({ gateway }: Opened): Promise<number> {
  return Number(await gateway.time(brief())) / 1e6;
}

/** What snapshots, series and tags are called. Where the lists are of different states, tags keep their ids: they may not fit. */
async function names(keeping: Keeping, { facts, root }: { facts: SnapshotFacts[]; root: number | undefined }): Promise<Pick<Read, "names" | "series" | "tags">> {
  const named = new Map<string, Named>();
  const series = new Map<string, Named>();
  for (const one of facts) {
    const { source, device, time, series: of } = snapshotOf(one);
    named.set(one.id, { source, device, time });
    // The newest comes first.
    if (!series.has(of)) series.set(of, { source, device, time });
  }
  const tags = new Map<string, string>();
  const byId = new Map(facts.map((one) => [one.id, one.tags]));
  for (const { id, tags: ids } of root === keeping.root ? keeping.tagIds() : []) {
    byId.get(id)?.forEach((name, at) => { if (!isTagId(name)) tags.set(ids[at]!, name); });
  }
  return { names: named, series, tags };
}

function policyOf(facts: PolicyFacts, names: Map<string, string>): Policy {
  const { spans, tags, counts, ...rest } = facts;
  // One set of names has other ids in each domain: named, they are one.
  const sets = new Map(tags.map((set) => [keyOf(set, names), set.map((id) => names.get(id) ?? id).sort()]));
  return {
    ...rest,
    counts: Object.fromEntries(PERIODS.map((period, at) => [period, countOf(counts[at]!)])) as Policy["counts"],
    within: spans[0] ?? null,
    spans: PERIODS.flatMap((period, at) => (period !== "last" && spans[at] ? [{ period, span: spans[at] }] : [])),
    tags: [...sets.values()],
  };
}

/** Sets of names as the sets of ids that they are in the domains, which name tags each in its own way. Sets that the policy in force has
 * stay what they are there: it may know domains that nobody finds any more. */
async function tagIds({ books }: Desk, sets: string[][]): Promise<string[][]> {
  const { keeping, tags } = read!;
  const own = new Map<string, string[][]>();
  for (const set of keeping.policy()?.tags ?? []) {
    const key = keyOf(set, tags);
    own.set(key, [...(own.get(key) ?? []), set]);
  }
  const names = [...new Set(sets.flat())].filter((tag) => !isTagId(tag));
  const { domains } = names.length > 0 ? await books().tagIds(names) : { domains: [] };
  const made = sets.flatMap((set) => [
    ...(own.get(keyOf(set, tags)) ?? []),
    ...(set.every(isTagId) ? [set] : domains.map((ids) => set.map((tag) => ids[names.indexOf(tag)] ?? tag))),
  ]);
  return [...new Map(made.map((set) => [JSON.stringify([...set].sort()), set])).values()];
}

/** What is the same for sets of one meaning. */
function keyOf(set: string[], names: Map<string, string>): string {
  return JSON.stringify(set.map((id) => names.get(id) ?? id).sort());
}

/** Below zero: no rule. Infinite: all. */
function numberOf(count: number | "all" | null): number {
  return count === "all" ? Infinity : (count ?? -1);
}

function countOf(number: number): number | "all" | null {
  if (number === Infinity) return "all";
  return number > 0 ? number : null;
}

/** It is named by its own manifest, which its client has signed: the state might name a series that it is not of. */
function held({ names }: Pick<Read, "names">): (facts: HeldFacts) => Hold {
  return ({ id, series, accepted, why }) => {
    const named = names.get(id);
    return { snapshot: id, series, source: named?.source ?? null, device: named?.device ?? null, time: named?.time ?? accepted, why };
  };
}

function foresightOf(read: Read, facts: ForesightFacts, decision: Omit<Decision, "goes">): Foresight {
  const found = new Map<string, Foreseen[]>();
  // By the time that the rules use: a device whose clock is fast makes no snapshot the newest.
  const newestFirst = [...facts.snapshots].sort((a, b) => b.time - a.time);
  for (const { id, series, time, goes, goesLater, reasons, protection } of newestFirst) {
    const one: Foreseen = { id, time: read.names.get(id)?.time ?? time, becomes: goes ? "goes" : goesLater ? "later" : "stays", reasons: reasons as Reason[], protection };
    const known = found.get(series);
    if (known) known.push(one);
    else found.set(series, [one]);
  }
  const series = [...found].map(([of, snapshots]) => ({
    series: of, source: read.series.get(of)?.source ?? null, device: read.series.get(of)?.device ?? null, snapshots,
  }));
  const goes = [...facts.snapshots.filter((one) => one.goes || one.goesLater).map(({ id }) => id), ...facts.freed];
  return { decision: { ...decision, goes }, series, holds: facts.held.map(held(read)), freed: facts.freed.length, lingers: facts.lingers as Lingers | null };
}

function forget(): void {
  read?.keeping.free();
  read = null;
}
