/** Zone: the browser's time zone as POSIX writes it, in which a policy says where days begin. */

/** A time zone that a policy can have: its name, and how POSIX writes it. */
export interface Zone {
  name: string;
  posix: string;
}

/** The browser's own; null if its clocks change by no rule that POSIX can write. */
export function ownZone(): Zone | null {
  const name = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const posix = posixOf(name, new Date().getUTCFullYear());
  return posix === null ? null : { name: name.replaceAll("_", " "), posix };
}

/** Whether two texts are one zone: they may call its seasons differently. */
export function isSameZone(one: string, other: string): boolean {
  const plain = (zone: string) => zone.replace(/<[^>]*>|^[A-Za-z]+|(?<=\d)[A-Za-z]+/g, "~").replace(/\/0?2(:00)*(?=,|$)/g, "");
  return plain(one) === plain(other);
}

/** A zone by its name, such as Europe/Berlin, by what it does in some years from this one on. */
export function posixOf(zone: string, year: number): string | null {
  const offset = offsets(zone);
  const changes: Change[] = [];
  for (let one = year; one < year + YEARS; one++) {
    const found = changesOf(offset, one);
    if (found.length !== 0 && found.length !== 2) return null;
    changes.push(...found);
  }
  const start = changes.filter(({ before, after }) => after > before);
  const end = changes.filter(({ before, after }) => after < before);
  const winter = end[0]?.after ?? offset(Date.UTC(year, 0, 1));
  if (changes.length === 0) return winter === 0 ? "" : named(zone, Date.UTC(year, 0, 1), winter);
  const rules = [ruleOf(start), ruleOf(end)];
  const summer = start[0]?.after ?? 0;
  if (start.length !== YEARS || end.length !== YEARS || rules.includes(null)) return null;
  const ofSummer = named(zone, start[0]!.time + HOUR, summer);
  return [named(zone, end[0]!.time + HOUR, winter) + (summer === winter + 60 ? ofSummer.replace(/[-\d:]+$/, "") : ofSummer), ...rules].join(",");
}

/** When clocks change, and the minutes that they are ahead of UTC. */
interface Change {
  time: number;
  before: number;
  after: number;
}

function changesOf(offset: (time: number) => number, year: number): Change[] {
  const found: Change[] = [];
  const end = Date.UTC(year + 1, 0, 1);
  for (let from = Date.UTC(year, 0, 1); from < end; from += WEEK) {
    const to = Math.min(from + WEEK, end);
    const [before, after] = [offset(from), offset(to)];
    if (before === after) continue;
    let [low, high] = [from, to];
    while (high - low > MINUTE) {
      const middle = low + Math.floor((high - low) / 2 / MINUTE) * MINUTE;
      if (offset(middle) === before) low = middle;
      else high = middle;
    }
    found.push({ time: high, before, after });
  }
  return found;
}

/** The day on which clocks change each year, and when: "M3.5.0/3" is the last Sunday of March at three; null if no rule says it. */
function ruleOf(changes: readonly Change[]): string | null {
  return [0, 1, 2].map((days) => ruleAfter(changes, days)).find((rule) => rule !== null) ?? null;
}

/** The same, so many days after the day that the rule names: "M10.5.4/24" is the midnight after the last Thursday of October. */
function ruleAfter(changes: readonly Change[], days: number): string | null {
  const locals = changes.map(({ time, before }) => new Date(time + before * MINUTE - days * 24 * HOUR));
  const same = <T>(of: (local: Date) => T): T | null => (locals.every((local) => of(local) === of(locals[0]!)) ? of(locals[0]!) : null);
  const isLast = (local: Date) => local.getUTCDate() + 7 > new Date(Date.UTC(local.getUTCFullYear(), local.getUTCMonth() + 1, 0)).getUTCDate();
  const week = same(isLast) === true ? 5 : same((local) => Math.ceil(local.getUTCDate() / 7));
  const parts = [same((local) => local.getUTCMonth() + 1), week, same((local) => local.getUTCDay())];
  const minutes = same((local) => local.getUTCHours() * 60 + local.getUTCMinutes());
  if (minutes === null || parts.includes(null)) return null;
  const after = minutes + days * 24 * 60;
  return `M${parts.join(".")}${after === 120 ? "" : `/${clock(after)}`}`;
}

/** The minutes that a zone is ahead of UTC at a time. */
function offsets(zone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  return (time) => {
    const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(nameIn(format, time)) ?? [];
    return sign ? (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) : 0;
  };
}

/** What a zone is called at a time, and its hours behind UTC: "CET-1", or by digits where it has no letters. */
function named(zone: string, time: number, ahead: number): string {
  const names = ["en-US", "en-GB", "en-AU"].map((locale) => nameIn(new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: "short" }), time));
  const letters = names.find((name) => /^[A-Z]{3,6}$/.test(name));
  const digits = `<${ahead < 0 ? "-" : "+"}${clock(Math.abs(ahead), "").padStart(2, "0")}>`;
  return `${letters ?? digits}${ahead > 0 ? "-" : ""}${clock(Math.abs(ahead))}`;
}

function nameIn(format: Intl.DateTimeFormat, time: number): string {
  return format.formatToParts(time).find(({ type }) => type === "timeZoneName")?.value ?? "";
}

/** Minutes as hours, with what is left of them where there is something. */
function clock(minutes: number, between = ":"): string {
  const rest = minutes % 60;
  const hours = String(Math.floor(minutes / 60));
  return `${between === "" ? hours.padStart(2, "0") : hours}${rest === 0 ? "" : between + String(rest).padStart(2, "0")}`;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WEEK = 168 * HOUR;
/** Within so many years each date falls on each day of the week, until 2099. */
const YEARS = 12;
