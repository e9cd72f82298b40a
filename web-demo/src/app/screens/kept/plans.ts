/** Plans: rules that a person may choose, and numbers as they are typed. */

import { kept as words } from "../../../words/kept";
import { PERIODS, type Period, type Rules } from "../../../core/keeping";

const NONE: Rules["counts"] = { last: null, hourly: null, daily: null, weekly: null, monthly: null, quarterly: null, yearly: null };
const DAY = 86_400;

export type PresetName = "family" | "office" | "little";

export const PRESETS: readonly { name: PresetName; rules: Rules }[] = [
  { name: "family", rules: { counts: { ...NONE, daily: 14, weekly: 8, monthly: 24, yearly: "all" }, within: "2d", floorLast: 3, floorAge: 14 * DAY } },
  { name: "office", rules: { counts: { ...NONE, hourly: 48, daily: 30, weekly: 13, monthly: 36, yearly: 10 }, within: "7d", floorLast: 5, floorAge: 30 * DAY } },
  { name: "little", rules: { counts: { ...NONE, daily: 7, weekly: 4, monthly: 6 }, within: null, floorLast: 2, floorAge: 7 * DAY } },
];

/** Numbers as they stand in the fields. */
export interface Typed {
  counts: Record<Period, string>;
  within: string;
  floorLast: string;
  /** Days. */
  floorAge: string;
}

export function typedOf({ counts, within, floorLast, floorAge }: Rules): Typed {
  return {
    counts: Object.fromEntries(PERIODS.map((period) => [period, counts[period] === "all" ? words.change.all : String(counts[period] ?? "")])) as Typed["counts"],
    within: within ?? "", floorLast: floorLast === 0 ? "" : String(floorLast), floorAge: floorAge === 0 ? "" : String(floorAge / DAY),
  };
}

/** The rules that were typed, or the field that cannot be one. */
export function rulesOf({ counts, within, floorLast, floorAge }: Typed): { rules: Rules } | { wrong: Period | "within" | "floorLast" | "floorAge" } {
  const rules: Rules = { counts: { ...NONE }, within: within.replaceAll(" ", "") || null, floorLast: 0, floorAge: 0 };
  for (const period of PERIODS) {
    const count = counts[period].trim().toLowerCase();
    const number = wholeOf(count);
    const isAll = count === "all" || count === words.change.all;
    if (!isAll && number === null) return { wrong: period };
    rules.counts[period] = isAll ? "all" : number || null;
  }
  if (rules.within !== null && !isSpan(rules.within)) return { wrong: "within" };
  const last = wholeOf(floorLast.trim());
  if (last === null) return { wrong: "floorLast" };
  const days = Number(floorAge.trim().replace(",", "."));
  if (!(days >= 0 && days <= 36_500)) return { wrong: "floorAge" };
  return { rules: { ...rules, floorLast: last, floorAge: Math.round(days * DAY) } };
}

export function isSame(one: Rules, other: Rules): boolean {
  const key = ({ counts, within, floorLast, floorAge }: Rules) => JSON.stringify([PERIODS.map((period) => counts[period] || null), within, floorLast, floorAge]);
  return key(one) === key(other);
}

/** A whole number that a policy may have; nothing is 0, what is none is null. */
function wholeOf(text: string): number | null {
  return /^\d{0,6}$/.test(text) ? Number(text) : null;
}

/** As the engine reads it: numbers with units, each unit once. */
function isSpan(text: string): boolean {
  const units = [...text.matchAll(/\d{1,6}([ymwdh])/g)];
  return units.map(([part]) => part).join("") === text && new Set(units.map(([, unit]) => unit)).size === units.length;
}
