/** Upkeep: the jobs that run beside the store, and the buttons that start one. */

import type { OrderedJob, ScheduledJob, Service, Status } from "../../../core/api";
import { status as words } from "../../../words/status";
import type { App } from "../../app";
import { ProblemNotice } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { say } from "../../parts/say";
import { ago, size } from "../../words";

export function Upkeep({ app, status }: { app: App; status: Status }) {
  const { upkeep } = words;
  const { service, ordered } = app.upkeep;
  const asked = service.value;
  const refused = ordered.value?.problem;
  return (
    <section class="card padded stack">
      <div><h2>{upkeep.title}</h2><p class="small soft">{asked.at === "here" && asked.value.jobs === null ? upkeep.itsOwn : upkeep.byItself}</p></div>
      {refused && <ProblemNotice problem={refused} tone="warn" retry={() => order(app, ordered.value!.job)} />}
      {asked.at === "failed" && <ProblemNotice problem={asked.problem} retry={() => void app.upkeep.load()} urgent={false} />}
      {asked.at === "here" && JOBS.map((job) => <Job key={job} app={app} job={job} service={asked.value} last={lastOf(job, asked.value, status)} />)}
    </section>
  );
}

function Job({ app, job, service, last }: { app: App; job: OrderedJob; service: Service; last: string }) {
  const { upkeep } = words;
  const { title, about, start, running } = upkeep[job];
  const told = service.jobs?.find((one) => one.job === job);
  const busy = service.jobs?.find((one) => one.isRunning);
  const isOrdering = app.upkeep.ordered.value?.problem === null && app.upkeep.ordered.value.job === job;
  return (
    <div class="setting plain">
      <div>
        <h3>{title}</h3>
        <p class="small soft">{about}</p>
        <p class="small soft">{[last, told && scheduleOf(told), told?.isFailing && upkeep.failed].filter(Boolean).join(" ")}</p>
      </div>
      {told && told.every > 0 && (
        told.isRunning
          ? <p class="soft nowrap" role="status"><Spinner label={running} /></p>
          : <button type="button" class="button" disabled={busy !== undefined || isOrdering} onClick={() => order(app, job)}>{start}</button>
      )}
    </div>
  );
}

function order(app: App, job: OrderedJob): void {
  void app.upkeep.order(job, () => say(words.upkeep[job].started));
}

function lastOf(job: OrderedJob, { lastPrune }: Service, { lastCheck }: Status): string {
  const { upkeep } = words;
  const now = Date.now();
  if (job === "check" && lastCheck) return upkeep.lastCheck(ago(lastCheck.time, now), lastCheck.outcome === "sound", sizeOf(lastCheck.readBytes));
  if (job === "prune" && lastPrune) return upkeep.lastPrune(ago(lastPrune.time, now), sizeOf(lastPrune.freedBytes));
  return upkeep.neverYet;
}

function sizeOf(bytes: number | null): string | null {
  return bytes === null ? null : size(bytes);
}

function scheduleOf({ every }: ScheduledJob): string {
  return every === 0 ? words.upkeep.never : words.upkeep.runs(Math.round(every / 3600));
}

const JOBS: readonly OrderedJob[] = ["check", "prune"];
