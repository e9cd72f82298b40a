/** Words for what is kept: a policy, why a snapshot stays, and why one is suspicious. */

import type { Foreseen, Hold, HoldRule, Lingers, Period, Policy, Reason, Rules } from "../../../core/api";
import { listed } from "../../plain";
import { count, counted, day, shown, size } from "../../words";

const UNITS: Record<string, string> = { y: "year", m: "month", w: "week", d: "day", h: "hour" };
const OF: Record<Exclude<Period, "last">, string> = { hourly: "hour", daily: "day", weekly: "week", monthly: "month", quarterly: "quarter", yearly: "year" };
const CALENDAR = ["hourly", "daily", "weekly", "monthly", "quarterly", "yearly"] as const;

/** "1y2m": "1 year and 2 months". */
export function spanWords(span: string): string {
  return listed([...span.matchAll(/(\d+)([ymwdh])/g)].map(([, number, unit]) => counted(Number(number), UNITS[unit ?? ""] ?? "")));
}

/** Seconds: "14 days", "36 hours". */
export function secondsWords(seconds: number): string {
  const units = [[86_400, "day"], [3_600, "hour"], [60, "minute"]] as const;
  const [length, unit] = units.find(([length]) => seconds >= length && seconds % length === 0) ?? [1, "second"];
  return counted(seconds / length, unit);
}

/** What the rules keep, a line for each; nothing where they let nothing go. */
export function ruleWords({ counts, within }: Rules): string[] {
  const lines: string[] = [];
  if (isEffective(within)) lines.push(`Everything of the last ${spanWords(within)}`);
  if (counts.last === "all") lines.push("Every backup");
  else if (counts.last) lines.push(counts.last === 1 ? "The last backup" : `The last ${count(counts.last)} backups`);
  const some = CALENDAR.filter((period) => typeof counts[period] === "number" && counts[period] !== 0);
  if (some.length > 0) lines.push(`One for each of the last ${listed(some.map((period) => counted(Number(counts[period]), OF[period])))}`);
  const all = CALENDAR.filter((period) => counts[period] === "all");
  if (all.length > 0) lines.push(`One for every ${listed(all.map((period) => OF[period]))}`);
  return lines;
}

/** What else a policy keeps; only the command sets it. */
export function besideWords({ spans, tags, dayFloor }: Pick<Policy, "spans" | "tags" | "dayFloor">): string[] {
  return [
    ...spans.map(({ period, span }) => `One for each ${OF[period]} of the last ${spanWords(span)}`),
    ...tags.map((set) => `Backups with the ${set.length === 1 ? "tag" : "tags"} ${listed(set.map((tag) => (isId(tag) ? `${tag.slice(0, 8)}… (no backup has it)` : `“${shown(tag)}”`)))}`),
    ...(isEffective(dayFloor) ? [`The first and the last of each day of the last ${spanWords(dayFloor)}`] : []),
  ];
}

/** What stays whatever the rules say. */
export function floorWords({ floorLast, floorAge }: Pick<Rules, "floorLast" | "floorAge">): string | null {
  const parts: string[] = [];
  if (floorLast > 0) parts.push(floorLast === 1 ? "the last one of each name" : `the last ${count(floorLast)} of each name`);
  if (floorAge > 0) parts.push(`whatever is younger than ${secondsWords(floorAge)}`);
  return parts.length === 0 ? null : listed(parts);
}

export function holdWords(hold: HoldRule | null): string {
  if (!hold) return "No backup is ever looked at with suspicion";
  return `A backup that lost ${hold.share} % of the one before, or stored as much anew, holds its name (from ${size(hold.least)} on)`;
}

/** The settings that have no words of their own elsewhere. */
export function otherWords({ zone, grace, checkParts }: Pick<Policy, "zone" | "grace" | "checkParts">): string[] {
  return [
    `What was forgotten can be brought back for ${secondsWords(grace)} at least`,
    zone === "" ? "Days begin at midnight UTC" : `Days begin at midnight of the time zone ${shown(zone)}`,
    checkParts === 1 ? "Each check reads all that is stored" : `Each check reads one part in ${count(checkParts)} of what is stored`,
  ];
}

export function lingerWords(lingers: Lingers, now: number): string {
  const parts = [floorWords(lingers), lingers.hold ? "its holds" : null].filter((part) => part !== null);
  return `Until ${day(lingers.until, now)} what the rules before have guarded stays too: ${listed(parts)}.`;
}

/** Why a snapshot stays, or how it goes. */
export function becomesWords({ becomes, reasons, protection }: Foreseen, now: number): string {
  if (becomes === "goes") return "No rule keeps it";
  const by = protection && PROTECTED[protection.by](protection.until === null ? "" : day(protection.until, now));
  if (reasons.length > 0) return listed([...new Set(reasons.map(reasonWords))]);
  return by ?? "";
}

const PROTECTED = {
  hold: () => "A hold keeps all of its name",
  last: () => "The guard keeps the last ones of each name",
  young: (until: string) => `The guard keeps it until ${until}`,
};

function reasonWords({ kind, period, nth, span }: Reason): string {
  const of = period && period !== "last" ? OF[period] : "";
  switch (kind) {
    case "no-rule": return "no rule lets anything go";
    case "pinned": return "pinned";
    case "tagged": return "its tags";
    case "within": return `of the last ${spanWords(span ?? "")}`;
    case "counted": return of === "" ? `number ${count(nth ?? 0)} of the last` : `the newest of its ${of}`;
    case "oldest": return "the oldest of its name";
    case "counted-within": return `the newest of its ${of} within ${spanWords(span ?? "")}`;
    case "day-floor": return "the first or the last of its day";
  }
}

/** Why a snapshot is suspicious. */
export function suspicionWords({ kind, before, now }: Hold["why"]): string {
  switch (kind) {
    case "entries": return `It has about ${counted(now, "file or folder", "files and folders")}, the one before had ${count(before)}.`;
    case "bytes": return `It holds about ${size(now)}, the one before held ${size(before)}.`;
    case "rewritten": return `About ${size(now)} had to be stored for it anew, of ${size(before)} that were there already. So it looks where files were encrypted.`;
  }
}

function isEffective(span: string | null): span is string {
  return span !== null && /[1-9]/.test(span);
}

function isId(tag: string): boolean {
  return /^[0-9a-f]{32}$/.test(tag);
}
