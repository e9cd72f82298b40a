/** Terms: what else a policy says, as it is typed. */

import type { HoldRule, Policy, Terms } from "../../../core/api";
import { USUAL, isTagId } from "../../../core/keeping";
import { ownZone } from "./zone";

/** As it stands in the fields. */
export interface TypedTerms {
  tags: string[][];
  /** Tags that are typed and were not added yet. */
  tag: string;
  watches: boolean;
  share: string;
  /** MiB. */
  least: string;
  grace: string;
  zone: string;
}

export type TermField = "share" | "least" | "grace";

/** What stands in the fields first: as the policy in force has it, and days that begin where the browser is if there is none. */
export function typedTerms(policy: Policy | null): TypedTerms {
  const { tags, hold, grace, zone } = policy ?? { ...USUAL, zone: ownZone()?.posix ?? "" };
  const { share, least } = hold ?? USUAL.hold!;
  return { tags, tag: "", watches: hold !== null, share: String(share), least: String(least / MIB), grace: spanOf(grace), zone };
}

/** The terms that differ from those in force, or the field that cannot be one. */
export function termsOf(typed: TypedTerms, policy: Policy | null): { terms: Partial<Terms> } | { wrong: TermField } {
  const from = typedTerms(policy);
  const terms: Partial<Terms> = {};
  if (keyOf(typed.tags) !== keyOf(from.tags)) terms.tags = typed.tags;
  if (typed.zone !== (policy ?? USUAL).zone) terms.zone = typed.zone;
  if (typed.grace !== from.grace) {
    const grace = secondsOf(typed.grace);
    if (grace === null || grace < 3_600) return { wrong: "grace" };
    terms.grace = grace;
  }
  if (!typed.watches) {
    if (from.watches) terms.hold = null;
  } else if (!from.watches || typed.share !== from.share || typed.least !== from.least) {
    const hold = holdOf(typed);
    if ("wrong" in hold) return hold;
    terms.hold = hold;
  }
  return { terms };
}

/** Names of tags with commas between them, each once. What looks like an id would be taken for one. */
export function tagsIn(text: string): string[] {
  return [...new Set(text.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "" && !isTagId(tag)))];
}

/** Sets with one more, unless it is there already. */
export function withTags(sets: readonly string[][], set: readonly string[]): string[][] {
  return set.length === 0 || sets.some((one) => keyOf([one]) === keyOf([set])) ? [...sets] : [...sets, [...set]];
}

function holdOf({ share, least }: TypedTerms): HoldRule | { wrong: TermField } {
  const percent = Number(share.trim().replace(/ ?%$/, "") || NaN);
  if (!Number.isInteger(percent) || percent < 1 || percent > 100) return { wrong: "share" };
  const bytes = Math.round(Number(least.trim().replace(",", ".") || NaN) * MIB);
  return bytes >= 0 && bytes <= Number.MAX_SAFE_INTEGER ? { share: percent, least: bytes } : { wrong: "least" };
}

/** Seconds as they are typed: "36h", "2d"; to the second where they are no whole hours. */
function spanOf(seconds: number): string {
  if (seconds > 0 && seconds % 86_400 === 0) return `${seconds / 86_400}d`;
  return seconds % 3_600 === 0 ? `${seconds / 3_600}h` : `${seconds}s`;
}

function secondsOf(text: string): number | null {
  const [, number, unit] = /^(\d{1,9})\s*([wdhs])$/.exec(text.trim().toLowerCase()) ?? [];
  return number && unit ? Number(number) * UNITS[unit]! : null;
}

function keyOf(sets: readonly (readonly string[])[]): string {
  return JSON.stringify(sets.map((set) => JSON.stringify([...set].sort())).sort());
}

const UNITS: Record<string, number> = { w: 604_800, d: 86_400, h: 3_600, s: 1 };
const MIB = 2 ** 20;
