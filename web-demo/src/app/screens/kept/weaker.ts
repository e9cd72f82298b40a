/** Weaker: what other rules protect less than those in force. Nobody should sign that without having read it. */

import type { Policy, Rules, Terms } from "../../../core/api";
import { PERIODS, USUAL } from "../../../core/keeping";
import { kept as words } from "../../../words/kept";
import { size } from "../../words";
import { besideWords, floorWords, keepsAll, ruleWords, secondsWords } from "./words";

/** A line for each thing; none where everything is as protected as before. */
export function weakerWords(policy: Policy | null, rules: Rules, terms: Partial<Terms>): string[] {
  const { weaker } = words;
  if (!policy) {
    const after = { ...USUAL, spans: [], ...rules, ...terms };
    return [...(keepsAll(after) ? [] : [weaker.fromAll]), ...(after.grace < USUAL.grace ? [weaker.grace(secondsWords(USUAL.grace), secondsWords(after.grace))] : [])];
  }
  const after: Policy = { ...policy, ...rules, ...terms };
  const lines: string[] = [];
  if (keepsLess(policy, after)) lines.push(weaker.rules(sentence(policy), sentence(after)));
  const gone = policy.tags.filter((set) => !after.tags.some((other) => other.every((tag) => set.includes(tag))));
  if (gone.length > 0 && !keepsAll(after)) lines.push(...besideWords({ spans: [], dayFloor: null, tags: gone }).map(weaker.tags));
  if (after.floorLast < policy.floorLast || after.floorAge < policy.floorAge) lines.push(weaker.guard(floorWords(policy) ?? "", floorWords(after)));
  if (policy.hold && !after.hold) lines.push(weaker.noHold);
  if (policy.hold && after.hold && (after.hold.share > policy.hold.share || after.hold.least > policy.hold.least)) {
    lines.push(weaker.hold(policy.hold.share, size(policy.hold.least), after.hold.share, size(after.hold.least)));
  }
  if (after.grace < policy.grace) lines.push(weaker.grace(secondsWords(policy.grace), secondsWords(after.grace)));
  return lines;
}

/** Whether the numbers keep less than before. */
function keepsLess(before: Policy, after: Policy): boolean {
  if (keepsAll(after) || after.counts.last === "all") return false;
  if (keepsAll(before)) return true;
  const rank = (count: number | "all" | null) => (count === "all" ? Infinity : (count ?? 0));
  const isShorter = before.within !== after.within && hours(after.within, LEAST) < hours(before.within, MOST);
  return isShorter || PERIODS.some((period) => rank(after.counts[period]) < rank(before.counts[period]));
}

function sentence(policy: Policy): string {
  const lines = keepsAll(policy) ? [words.rules.all] : [...ruleWords(policy), ...besideWords(policy)];
  return words.rules.together(lines, null).replace(/\.$/, "");
}

/** How long a span is, with months and years of so many hours. */
function hours(span: string | null, units: Record<string, number>): number {
  return [...(span ?? "").matchAll(/(\d+)([ymwdh])/g)].reduce((all, [, number, unit]) => all + Number(number) * units[unit!]!, 0);
}

/** Hours of the shortest month and year, and of the longest. */
const LEAST: Record<string, number> = { y: 8_760, m: 672, w: 168, d: 24, h: 1 };
const MOST: Record<string, number> = { ...LEAST, y: 8_784, m: 744 };
