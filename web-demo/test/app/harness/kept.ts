/** What is kept, as scenes show it: rules, a hold, and what would go. */

import type { Foreseen, Foresight, Hold, Kept, Plan, Policy } from "../../../src/core/api";
import { DAY, NOW, snapshots } from "./scripted";

const POLICY: Policy = {
  change: 7, counts: { last: null, hourly: null, daily: 7, weekly: 4, monthly: 12, quarterly: null, yearly: null }, within: "2d",
  spans: [{ period: "weekly", span: "6m" }], dayFloor: null, tags: [["before-move"], ["taxes", "signed"]], zone: "", grace: 86_400, checkParts: 30,
  floorLast: 3, floorAge: 14 * 86_400, hold: { share: 50, least: 64 << 20 },
};

export const KEPT: Kept = { policy: POLICY, lingers: null, holds: [], snapshots: 40, tags: ["before-move", "signed", "taxes"] };
export const NO_RULES: Kept = { ...KEPT, policy: null };
const lingers = (): Foresight["lingers"] => ({ until: NOW + 12 * DAY, floorLast: 5, floorAge: 30 * 86_400, hold: null });
export const lingering = (): Kept => ({ ...KEPT, lingers: lingers() });

const holds = (): Hold[] => [
  { snapshot: "snapshot-0", series: "s1", source: "Pictures", device: "Firefox on the laptop", time: NOW - 7 * 60_000, why: { kind: "rewritten", before: 4.6 * 2 ** 30, now: 4.4 * 2 ** 30 } },
  { snapshot: "snapshot-7", series: "s2", source: "desk: /home/mara", device: "desk", time: NOW - 2.9 * DAY, why: { kind: "entries", before: 412_000, now: 1_200 } },
];
export const held = (): Kept => ({ ...KEPT, holds: holds() });

/** The oldest go, some of them later where rules of before linger. */
export function foresight(plan: Plan, isLingering = false): Foresight {
  const all = snapshots();
  const becomes = (at: number): Foreseen["becomes"] => (at < 24 ? "stays" : isLingering && at < 32 ? "later" : "goes");
  const reasons = (at: number): Foreseen["reasons"] => [
    ...(at < 6 ? [{ kind: "within" as const, period: null, nth: null, span: "2d" }] : []),
    ...(at < 24 ? [{ kind: "counted" as const, period: at < 15 ? ("daily" as const) : ("monthly" as const), nth: 1 + Math.floor(at / 3), span: null }] : []),
  ];
  const foreseen = all.map(({ id, time, series }, at) => ({ series, one: { id, time, becomes: becomes(at), reasons: reasons(at), protection: becomes(at) === "later" ? { by: "young" as const, until: NOW + 9 * DAY } : null } }));
  const series = [...new Map(all.map(({ series, source, device }) => [series, { series, source, device }])).values()];
  return {
    decision: { plan, policy: "rules" in plan ? Uint8Array.of(1) : null, tags: [], before: 7, base: "rules" in plan ? 7 : null, release: "release" in plan ? plan.release : [], goes: foreseen.filter(({ one }) => one.becomes !== "stays").map(({ one }) => one.id) },
    series: series.map((of) => ({ ...of, snapshots: foreseen.filter((one) => one.series === of.series).map(({ one }) => one) })),
    holds: isLingering ? holds().slice(0, 1) : [], freed: "release" in plan ? 2 : 0, lingers: isLingering ? lingers() : null,
  };
}
