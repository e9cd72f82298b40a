/** Words for what is kept: which of the catalogue's say a policy, why a snapshot stays, and why one is suspicious. */

import type { Foreseen, Hold, HoldRule, Lingers, Period, Policy, Reason, Rules } from "../../../core/api";
import { isTagId } from "../../../core/keeping";
import { type Unit, kept as words } from "../../../words/kept";
import { listed } from "../../plain";
import { day, shown, size } from "../../words";
import { isSameZone, ownZone } from "./zone";

const UNITS: Record<string, Unit> = { y: "year", m: "month", w: "week", d: "day", h: "hour" };
const OF: Record<Exclude<Period, "last">, Unit> = { hourly: "hour", daily: "day", weekly: "week", monthly: "month", quarterly: "quarter", yearly: "year" };
const CALENDAR = ["hourly", "daily", "weekly", "monthly", "quarterly", "yearly"] as const;

/** "1y2m": "1 year and 2 months". */
export function spanWords(span: string): string {
  return listed([...span.matchAll(/(\d+)([ymwdh])/g)].map(([, number, unit]) => words.rules.length(Number(number), UNITS[unit ?? ""] ?? "day")));
}

/** Seconds: "14 days", "36 hours". */
export function secondsWords(seconds: number): string {
  const units = [[86_400, "day"], [3_600, "hour"], [60, "minute"]] as const;
  const [length, unit] = units.find(([length]) => seconds >= length && seconds % length === 0) ?? [1, "second"];
  return words.rules.length(seconds / length, unit);
}

/** What the rules keep, a line for each; nothing where they let nothing go. */
export function ruleWords({ counts, within }: Rules): string[] {
  const { rules } = words;
  const lines: string[] = [];
  if (isEffective(within)) lines.push(rules.within(spanWords(within)));
  if (counts.last === "all") lines.push(rules.all);
  else if (counts.last) lines.push(rules.last(counts.last));
  const some = CALENDAR.filter((period) => typeof counts[period] === "number" && counts[period] !== 0);
  if (some.length > 0) lines.push(rules.forLast(listed(some.map((period) => rules.length(Number(counts[period]), OF[period])))));
  const all = CALENDAR.filter((period) => counts[period] === "all");
  if (all.length > 0) lines.push(rules.forEvery(listed(all.map((period) => rules.every(OF[period])))));
  return lines;
}

/** Tags of a set, each by its name, or by the first letters of its id. */
export function tagWords(set: readonly string[]): string {
  const { rules } = words;
  return listed(set.map((tag) => (isTagId(tag) ? rules.unknownTag(tag.slice(0, 8)) : rules.tag(shown(tag)))));
}

/** What a policy keeps besides numbers. */
export function besideWords({ spans, tags, dayFloor }: Pick<Policy, "spans" | "tags" | "dayFloor">): string[] {
  const { rules } = words;
  return [
    ...spans.map(({ period, span }) => rules.forSpan(OF[period], spanWords(span))),
    ...tags.map((set) => rules.tagged(set.length, tagWords(set))),
    ...(isEffective(dayFloor) ? [rules.ends(spanWords(dayFloor))] : []),
  ];
}

/** What stays whatever the rules say. */
export function floorWords({ floorLast, floorAge }: Pick<Rules, "floorLast" | "floorAge">): string | null {
  const { rules } = words;
  const parts = [...(floorLast > 0 ? [rules.floorLast(floorLast)] : []), ...(floorAge > 0 ? [rules.floorAge(secondsWords(floorAge))] : [])];
  return parts.length === 0 ? null : listed(parts);
}

export function holdWords(hold: HoldRule | null): string {
  return hold ? words.rules.hold(hold.share, size(hold.least)) : words.rules.noHold;
}

/** The settings that have no words of their own elsewhere. */
export function otherWords({ zone, grace, checkParts }: Pick<Policy, "zone" | "grace" | "checkParts">): string[] {
  return [...termWords({ grace, zone }), words.rules.checkParts(checkParts)];
}

/** Whether nothing ever goes: no rule chooses. The first and last of each day stay besides what rules keep, and are no rule. */
export function keepsAll(policy: Rules & Pick<Policy, "spans" | "tags">): boolean {
  return ruleWords(policy).length + policy.spans.length + policy.tags.length === 0;
}

/** How long data waits, and where days begin. */
export function termWords({ grace, zone }: Pick<Policy, "zone" | "grace">): string[] {
  const { rules } = words;
  const own = zone === "" ? null : ownZone();
  const name = own && isSameZone(own.posix, zone) ? own.name : shown(zone);
  return [rules.grace(secondsWords(grace)), zone === "" ? rules.utc : rules.zone(name)];
}

export function lingerWords(lingers: Lingers, now: number): string {
  return words.rules.linger(day(lingers.until, now), floorWords(lingers), lingers.hold !== null);
}

/** Why a snapshot stays, or how it goes. */
export function becomesWords({ becomes, reasons, protection }: Foreseen, now: number): string {
  const { noRule, byHold, byLast, byAge } = words.forecast;
  if (becomes === "goes") return noRule;
  if (reasons.length > 0) return listed([...new Set(reasons.map(reasonWords))]);
  if (!protection) return "";
  if (protection.by === "hold") return byHold;
  return protection.by === "last" ? byLast : byAge(protection.until === null ? "" : day(protection.until, now));
}

function reasonWords({ kind, period, nth, span }: Reason): string {
  return words.forecast.reasons[kind](period && period !== "last" ? OF[period] : null, nth ?? 0, spanWords(span ?? ""));
}

/** Why a snapshot is suspicious. */
export function suspicionWords({ kind, before, now }: Hold["why"]): string {
  return kind === "entries" ? words.holds.entries(now, before) : words.holds[kind](size(now), size(before));
}

function isEffective(span: string | null): span is string {
  return span !== null && /[1-9]/.test(span);
}
