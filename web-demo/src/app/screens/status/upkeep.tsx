/** Upkeep: the jobs that run beside the store, and the buttons that start one. */

import type { OrderedJob, ScheduledJob, Service, Status } from "../../../core/api";
import type { App } from "../../app";
import { ProblemNotice } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { ago, size } from "../../words";

export function Upkeep({ app, status }: { app: App; status: Status }) {
  const { service, ordered } = app.upkeep;
  const asked = service.value;
  const refused = ordered.value?.problem;
  return (
    <section class="card padded stack">
      <div><h2>Upkeep</h2><p class="small soft">{asked.at === "here" && asked.value.jobs === null
        ? "The service does this on a schedule of its own. It cannot be started from here."
        : "The service does this by itself. You need not start it, but you can."}</p></div>
      {refused && <ProblemNotice problem={refused} tone="warn" retry={() => void app.upkeep.order(ordered.value!.job)} />}
      {asked.at === "failed" && <ProblemNotice problem={asked.problem} retry={() => void app.upkeep.load()} urgent={false} />}
      {asked.at === "here" && JOBS.map((job) => <Job key={job} app={app} job={job} service={asked.value} last={lastOf(job, asked.value, status)} />)}
    </section>
  );
}

function Job({ app, job, service, last }: { app: App; job: OrderedJob; service: Service; last: string }) {
  const told = service.jobs?.find((one) => one.job === job);
  const busy = service.jobs?.find((one) => one.isRunning);
  const isOrdering = app.upkeep.ordered.value?.problem === null && app.upkeep.ordered.value.job === job;
  return (
    <div class="setting plain">
      <div>
        <h3>{TITLES[job]}</h3>
        <p class="small soft">{ABOUT[job]}</p>
        <p class="small soft">{last}{told && ` ${scheduleOf(told)}`}{told?.isFailing && " The last run failed."}</p>
      </div>
      {told && told.every > 0 && (
        told.isRunning
          ? <p class="soft nowrap" role="status"><Spinner label={job === "check" ? "Checking…" : "Pruning…"} /></p>
          : <button type="button" class="button" disabled={busy !== undefined || isOrdering} onClick={() => void app.upkeep.order(job)}>{job === "check" ? "Check now" : "Prune now"}</button>
      )}
    </div>
  );
}

function lastOf(job: OrderedJob, service: Service, status: Status): string {
  const now = Date.now();
  if (job === "check") {
    const { lastCheck } = status;
    if (!lastCheck) return "It has not reported yet.";
    return `Last ${ago(lastCheck.time, now)}: ${lastCheck.outcome === "sound" ? "sound" : "damage"}${lastCheck.readBytes === null ? "" : `, ${size(lastCheck.readBytes)} read`}.`;
  }
  const { lastPrune } = service;
  if (!lastPrune) return "It has not reported yet.";
  return `Last ${ago(lastPrune.time, now)}${lastPrune.freedBytes === null ? "" : `: ${size(lastPrune.freedBytes)} freed`}.`;
}

function scheduleOf({ every }: ScheduledJob): string {
  if (every === 0) return "This server never does it by itself, so nobody can start it here.";
  const hours = Math.round(every / 3600);
  return hours < 1 ? "It runs more often than every hour." : hours === 1 ? "It runs every hour." : hours === 24 ? "It runs every day." : hours % 24 === 0 ? `It runs every ${hours / 24} days.` : `It runs every ${hours} hours.`;
}

const JOBS: readonly OrderedJob[] = ["check", "prune"];
const TITLES: Record<OrderedJob, string> = { check: "Check", prune: "Prune" };
const ABOUT: Record<OrderedJob, string> = {
  check: "Reads the part of the stored data whose turn it is, and compares it with what was stored.",
  prune: "Frees what no snapshot needs, once the grace period is over. It cannot be made shorter here.",
};
