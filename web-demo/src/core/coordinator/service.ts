//! Service: what the gateway tells of the jobs beside the store and of quotas, and what alarms are made of.

import type { OrderedJob, Room, ScheduledJob, Service, Watched } from "../api";
import { brief } from "../gateway/client";
import { problemOf } from "../problem";
import type { Opened } from "./opened";
import { newestReport, outcomeOf } from "./reports";

/** The service as it tells of itself. */
export async function readService(opened: Opened): Promise<Service> {
  const [jobs, lastPrune, room] = await Promise.all([opened.owner ? schedule(opened) : null, opened.owner ? prune(opened) : null, quotas(opened)]);
  return { jobs, lastPrune, room };
}

/** Orders one run of a job. If the answer is lost, the order may be there all the same: then it is told as running. */
export async function order(opened: Opened, job: OrderedJob): Promise<void> {
  await opened.gateway.order(brief(), job);
}

/** What alarms are made of: from the state, which the browser keeps mostly, and a few requests besides. */
export async function readWatched(opened: Opened): Promise<Watched> {
  const view = await opened.openView();
  const states = view.snapshots();
  view.free();
  // The state tells a write-only device of others, but nobody could tell it their names.
  const kept = opened.owner ? states.filter((state) => !state.partial && state.state === "kept") : [];
  const series = new Map<string, { client: string; times: number[] }>();
  for (const { client, source, time, accepted } of kept) {
    const key = `${client}/${source}`;
    const one = series.get(key) ?? { client, times: [] };
    // A clock that runs ahead must not make a series look fresh for years.
    one.times.push(Math.min(time, accepted));
    series.set(key, one);
  }
  const rhythms = [...series].map(([key, { client, times }]) => ({ series: key, client, times: times.sort((a, b) => b - a).slice(0, TIMES) }));
  const [report, service] = await Promise.all([opened.owner ? newestReport(opened, "check") : null, readService(opened)]);
  return {
    rhythms,
    lastCheck: report ? { time: report.time, outcome: outcomeOf(report.body) } : null,
    service,
    since: kept.length > 0 ? kept.reduce((oldest, { accepted }) => Math.min(oldest, accepted), Infinity) : null,
  };
}

async function schedule(opened: Opened): Promise<ScheduledJob[] | null> {
  try {
    const told = await opened.gateway.jobs(brief());
    return told.flatMap(({ job, every, running, ended, failing }) =>
      isJob(job) && typeof every === "number" ? [{ job, every, isRunning: running === true, ended: typeof ended === "number" ? 1000 * ended : null, isFailing: failing === true }] : [],
    );
  } catch (error) {
    return unlessUntold(error);
  }
}

async function quotas(opened: Opened): Promise<Service["room"]> {
  try {
    const told = await opened.gateway.quota(brief());
    return { stored: roomOf(told["stored"]), daily: roomOf(told["daily"]) };
  } catch (error) {
    return unlessUntold(error) ?? { stored: null, daily: null };
  }
}

async function prune(opened: Opened): Promise<Service["lastPrune"]> {
  const report = await newestReport(opened, "prune");
  if (!report) return null;
  const freed = report.body["bytes_deleted"];
  return { time: report.time, freedBytes: typeof freed === "number" ? freed : null };
}

/** A service without a schedule, and one of an earlier version, have no answer. */
function unlessUntold(error: unknown): null {
  if (!UNTOLD.has(problemOf(error).code)) throw error;
  return null;
}

function roomOf(told: unknown): Room | null {
  const { quota, used } = (told ?? {}) as { quota?: unknown; used?: unknown };
  return typeof quota === "number" && typeof used === "number" ? { quota, used } : null;
}

function isJob(job: unknown): job is ScheduledJob["job"] {
  return JOBS.some((one) => one === job);
}

const JOBS: readonly ScheduledJob["job"][] = ["expire", "compact", "prune", "check"];
const UNTOLD = new Set(["not-here", "not-permitted", "server-failed", "server-gone"]);
/** Snapshots of a series that tell its rhythm. */
const TIMES = 20;
