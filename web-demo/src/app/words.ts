/** Words for people: sizes, counts, spans of time, dates, rates. One place, so that one thing reads the same everywhere. */

import { digits } from "../words/numbers";
import { time as words } from "../words/time";
import { pad, sized, stamp } from "./measures";
import { isolated } from "./way";

export { count, counted } from "../words/numbers";
export { baseName, shown } from "./names";
export { stamp };

/** A size with three digits, in the units of the command line. */
export function size(bytes: number): string {
  return isolated(sized(bytes, digits));
}

/** Bytes each second. */
export function rate(bytesPerSecond: number): string {
  return isolated(`${sized(bytesPerSecond, digits)}/s`);
}

/** A part of a whole in percent; what is not all is never shown as 100 %, what is not nothing never as 0 %. */
export function percent(part: number, whole: number): string {
  if (whole <= 0) return "0 %";
  const exact = (100 * part) / whole;
  if (exact <= 0) return "0 %";
  if (exact < 1) return "< 1 %";
  if (exact < 100) return `${Math.min(99, Math.floor(exact))} %`;
  return "100 %";
}

/** How long something took, exact where it is short: "0.8 s", "42 s", "3 min 20 s", "2 h 5 min". */
export function span(ms: number): string {
  const seconds = ms / 1000;
  const { s, min, h, days } = words.units;
  if (seconds < 9.95) return `${digits(seconds, 1)} ${s}`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} ${s}`;
  if (whole < 3600) return join(Math.floor(whole / 60), min, whole % 60, s);
  const minutes = Math.round(seconds / 60);
  if (minutes < 60 * 48) return join(Math.floor(minutes / 60), h, minutes % 60, min);
  const hours = Math.round(minutes / 60);
  return join(Math.floor(hours / 24), days, hours % 24, h);
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** What is left, coarse on purpose: a number that changes every second would promise what nobody knows. */
export function remaining(ms: number | null): string {
  if (ms === null || !Number.isFinite(ms) || ms < 0) return words.estimating;
  const seconds = ms / 1000;
  if (seconds < 5) return words.fewSecondsLeft;
  if (seconds < 55) return words.secondsLeft(Math.ceil(seconds / 5) * 5);
  const minutes = Math.round(seconds / 60);
  if (minutes < 2) return words.minuteLeft;
  if (minutes < 60) return words.minutesLeft(minutes);
  const hours = Math.floor(minutes / 60);
  const rest = Math.round((minutes % 60) / 10) * 10;
  if (hours < 10 && rest > 0 && rest < 60) return words.hoursLeft(hours, rest);
  return words.hoursLeft(Math.round(minutes / 60), 0);
}

/** "Today, 14:05", "Yesterday, 14:05", "12 Mar, 14:05", and with the year where it is another. */
export function when(time: number, now: number, hasSeconds = false): string {
  const date = new Date(time);
  const clock = [date.getHours(), date.getMinutes(), ...(hasSeconds ? [date.getSeconds()] : [])].map(pad).join(":");
  const days = dayNumber(now) - dayNumber(time);
  if (days === 0) return words.today(clock);
  if (days === 1) return words.yesterday(clock);
  return words.at(day(time, now), clock);
}

/** A day and a clock, whole, inside a sentence: what stands in a column is a `stamp`. */
export function moment(time: number): string {
  return words.moment(stamp(time));
}

/** What `when` says, inside a sentence. */
export function within(said: string): string {
  return words.within(said);
}

/** A snapshot, as far as a list names it. */
export interface Dated {
  time: number;
  source: string;
  device?: string;
}

/** Says `when` a snapshot of a list was made. Shows seconds where two snapshots of one source and device would read the same. */
export function whenAmong(list: readonly Dated[]): (one: Dated, now: number) => string {
  const reading = ({ time, source, device = "" }: Dated) => JSON.stringify([stamp(time), source, device]);
  const counts = new Map<string, number>();
  for (const one of list) counts.set(reading(one), (counts.get(reading(one)) ?? 0) + 1);
  return (one, now) => when(one.time, now, (counts.get(reading(one)) ?? 0) > 1);
}

/** "12 Mar", and with the year where it is another. */
export function day(time: number, now: number): string {
  const date = new Date(time);
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return words.day(date.getDate(), date.getMonth(), isThisYear ? null : date.getFullYear());
}

/** "just now", "5 minutes ago", "3 days ago". */
export function ago(time: number, now: number): string {
  const seconds = (now - time) / 1000;
  if (seconds < 60) return words.justNow;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return words.minutesAgo(minutes);
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return words.hoursAgo(hours);
  const days = Math.floor(hours / 24);
  if (days < 60) return words.daysAgo(days);
  const months = Math.floor(days / 30.44);
  if (months < 24) return words.monthsAgo(months);
  return words.yearsAgo(Math.floor(days / 365.25));
}

/** "0:59" for a clock that counts down. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`;
}

function dayNumber(time: number): number {
  const date = new Date(time);
  return Math.round(Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / 86_400_000);
}
