/** Alarms: what needs a person, judged from what the service and this browser tell. Pure: whoever calls supplies the time. */

import type { Device, Hold, ProblemCode, RememberedFolder, Room, Session, Settings, Snapshot, Watched } from "../core/api";
import { alarms as words } from "../words/alarms";
import { problems } from "../words/problems";
import { ago, percent, shown, size } from "./words";

export interface Alarm {
  /** The same for the same matter, so that it is told once. */
  id: string;
  tone: "bad" | "warn";
  title: string;
  advice: string;
  /** A series that the person may expect no more of. */
  series?: string;
  /** A warning that the person may have read. */
  warning?: ProblemCode;
  /** It is looked at, and ended, under What is kept. */
  isHold?: boolean;
}

/** What alarms are judged by. Names are there only where they were asked for. */
export interface Facts {
  watched: Watched;
  session: Session;
  settings: Pick<Settings, "staleDays" | "quietSeries" | "readWarnings">;
  remembered: readonly RememberedFolder[];
  snapshots: readonly Snapshot[];
  devices: readonly Device[];
  holds: readonly Hold[];
}

/** All alarms, the worst first. */
export function alarms(facts: Facts, now: number): Alarm[] {
  const { watched } = facts;
  const found = [...damage(watched), ...held(facts), ...stale(facts, now), ...jobs(watched, now), ...room(watched, now), ...storage(facts)];
  return found.sort((a, b) => Number(b.tone === "bad") - Number(a.tone === "bad"));
}

/** Series whose backups have stopped coming, by their rhythm. Their names are not needed to see that. */
export function staleSeries({ watched, settings }: { watched: Pick<Watched, "rhythms">; settings: Pick<Settings, "staleDays" | "quietSeries"> }, now: number): Watched["rhythms"] {
  const { staleDays, quietSeries } = settings;
  if (staleDays === 0) return [];
  return watched.rhythms.filter(({ series, times }) => {
    const usual = rhythm(times);
    return usual !== null && !quietSeries.includes(series) && now - (times[0] ?? now) > Math.max(staleDays * DAY, 2 * usual);
  });
}

/** The usual time between two backups: the median. Two of them have no rhythm yet. */
function rhythm(times: readonly number[]): number | null {
  if (times.length < 3) return null;
  const gaps = times.slice(1).map((time, i) => (times[i] ?? time) - time).sort((a, b) => a - b);
  return gaps[Math.floor(gaps.length / 2)] ?? null;
}

function stale(facts: Facts, now: number): Alarm[] {
  const { settings, remembered, snapshots, devices, session } = facts;
  if (settings.staleDays === 0) return [];
  const old = remembered.filter(({ lastBackup }) => lastBackup !== null && now - lastBackup > settings.staleDays * DAY);
  const revoked = new Set(devices.filter(({ state }) => state === "revoked").map(({ client }) => client));
  const found = old.map((folder): Alarm => ({
    id: `folder ${folder.id}`, tone: "warn",
    title: words.oldHere(shown(folder.label), ago(folder.lastBackup ?? now, now)),
    advice: words.oldHereAdvice,
  }));
  for (const { series, client, times } of staleSeries(facts, now)) {
    const newest = snapshots.find((snapshot) => snapshot.series === series);
    const isTold = client === session.client && old.some(({ label }) => label === newest?.source);
    if (revoked.has(client) || isTold) continue;
    const usual = rhythm(times) ?? DAY;
    found.push({
      id: `series ${series}`, tone: "warn", series,
      title: words.old(newest ? words.seriesOf(shown(newest.source), shown(newest.device)) : words.someSeries, ago(times[0] ?? now, now)),
      advice: words.oldAdvice(Math.round(usual / DAY), Math.max(1, Math.round(usual / HOUR))),
    });
  }
  return found;
}

function damage({ lastCheck }: Watched): Alarm[] {
  if (lastCheck?.outcome !== "damage") return [];
  return [{ id: `damage ${lastCheck.time}`, tone: "bad", title: words.damage, advice: words.damageAdvice }];
}

function held({ holds }: Facts): Alarm[] {
  return holds.map(({ snapshot, source, device }) => {
    const name = source === null ? words.someSeries : shown(source);
    return { id: `hold ${snapshot}`, tone: "bad", isHold: true, title: words.hold(device === null ? name : words.seriesOf(name, shown(device))), advice: words.holdAdvice };
  });
}

function jobs({ service, lastCheck, since }: Watched, now: number): Alarm[] {
  const found: Alarm[] = [];
  const failing = (service.jobs ?? []).filter(({ isFailing }) => isFailing).map(({ job }) => job);
  if (failing.length > 0) {
    found.push({ id: `failing ${failing.join()}`, tone: "bad", title: words.fails(failing), advice: words.failsAdvice });
  }
  // A service that tells no schedule keeps one of its own, a day mostly.
  const limit = (job: "check" | "prune") => {
    if (!service.jobs) return UNKNOWN;
    const seconds = service.jobs.find((one) => one.job === job)?.every ?? 0;
    return seconds === 0 ? Infinity : Math.max(3 * 1000 * seconds, 2 * DAY);
  };
  for (const [job, last] of [["check", lastCheck?.time ?? null], ["prune", service.lastPrune?.time ?? null]] as const) {
    const from = last ?? since;
    if (from === null || failing.includes(job) || now - from <= limit(job)) continue;
    const days = last === null ? null : Math.floor((now - last) / DAY);
    const said = job === "check" ? { title: words.noCheck(days), advice: words.noCheckAdvice } : { title: words.noPrune(days), advice: words.noPruneAdvice };
    found.push({ id: `late ${job}`, tone: "warn", ...said });
  }
  return found;
}

function room({ service }: Watched, now: number): Alarm[] {
  const full = ({ quota, used }: Room) => used >= NEAR * quota;
  const { stored, daily } = service.room;
  const found: Alarm[] = [];
  if (stored && full(stored)) {
    found.push({ id: "quota", tone: stored.used >= stored.quota ? "bad" : "warn", title: words.quota(percent(stored.used, stored.quota)), advice: words.quotaAdvice(size(stored.used), size(stored.quota)) });
  }
  if (daily && full(daily)) {
    found.push({ id: `daily ${Math.floor(now / DAY)}`, tone: "warn", title: words.daily(percent(daily.used, daily.quota)), advice: words.dailyAdvice(size(daily.used), size(daily.quota)) });
  }
  return found;
}

/** Whoever has read it once knows it. */
function storage({ session, settings }: Facts): Alarm[] {
  return session.warnings.filter(({ code }) => code === "storage-short-lived" && !settings.readWarnings.includes(code)).map(({ code }) => ({ id: code, tone: "warn", ...problems[code], warning: code }));
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A service of which no schedule is known. */
const UNKNOWN = 30 * DAY;
/** The share of a quota from which on somebody should know. */
const NEAR = 0.9;
