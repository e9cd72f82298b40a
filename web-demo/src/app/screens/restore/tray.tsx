/** The tray: downloads and restores on their way, and how they ended. */

import { useEffect } from "preact/hooks";
import type { RestoreResult } from "../../../core/api";
import type { App } from "../../app";
import type { Job } from "../../jobs";
import { SKIPPED } from "../../plain";
import { Icon } from "../../parts/icon";
import { Progress } from "../../parts/progress";
import { say } from "../../parts/say";
import { count, counted, rate, remaining, shown, size, span } from "../../words";

export function Tray({ app }: { app: App }) {
  const jobs = app.jobs.jobs.value;
  if (jobs.length === 0) return null;
  return (
    <section class="tray card" aria-label="Downloads and restores">
      <ul>{jobs.map((job) => <Item key={job.id} app={app} job={job} />)}</ul>
    </section>
  );
}

function Item({ app, job }: { app: App; job: Job }) {
  const { end } = job;
  const bad = end !== null && (end.at === "ended" ? end.problem.code !== "cancelled" : end.result.damaged.length > 0);
  useEffect(() => {
    if (end) say(end.at === "done" ? `${job.title}: done` : `${job.title}: ${end.problem.title}`);
  }, [end, job.title]);
  return (
    <li class="job">
      <span class={bad ? "job-icon bad" : end?.at === "done" ? "job-icon good" : "job-icon"}><Icon name={bad ? "warning" : end?.at === "done" ? "check" : job.kind === "into" ? "into" : "download"} /></span>
      <div class="grow">
        <p class="strong clip"><bdi>{shown(job.title)}</bdi></p>
        {end === null ? <Going job={job} /> : end.at === "done" ? <Result result={end.result} /> : <p class="small soft">{end.problem.code === "cancelled" ? "Stopped." : `${end.problem.title}. ${end.problem.advice}`}</p>}
      </div>
      <div class="row firm">
        {end === null ? (
          <>
            {job.asked === "pause"
              ? <button type="button" class="button icon small" aria-label={`Resume ${job.title}`} onClick={() => app.jobs.ask(job.id, "go")}><Icon name="play" size={16} /></button>
              : <button type="button" class="button icon small" aria-label={`Pause ${job.title}`} disabled={job.asked === "cancel"} onClick={() => app.jobs.ask(job.id, "pause")}><Icon name="pause" size={16} /></button>}
            <button type="button" class="button icon small" aria-label={`Stop ${job.title}`} disabled={job.asked === "cancel"} onClick={() => app.jobs.ask(job.id, "cancel")}><Icon name="close" size={16} /></button>
          </>
        ) : <button type="button" class="button plain icon small" aria-label={`Dismiss ${job.title}`} onClick={() => app.jobs.dismiss(job.id)}><Icon name="close" size={16} /></button>}
      </div>
    </li>
  );
}

function Going({ job }: { job: Job }) {
  const { progress } = job;
  const part = progress && progress.bytes.total > 0 ? progress.bytes.done / progress.bytes.total : null;
  const halted = job.asked === "pause" || progress?.state === "offline";
  return (
    <div class="stack tight">
      <Progress part={progress && progress.bytes.total === 0 ? 0 : part} label={job.title} state={halted ? "halted" : "running"} />
      <p class="small soft row ends firm">
        <span class="clip">
          {job.asked === "cancel" ? "Stopping…" : progress === null ? "Getting ready…"
            : job.asked === "pause" ? "Paused"
            : progress.state === "offline" || progress.state === "retrying" ? `${progress.problem?.title ?? "The server did not answer"}: it goes on by itself`
            : `${size(progress.bytes.done)} of ${size(progress.bytes.total)}, ${count(progress.files.done)} of ${counted(progress.files.total, "file")}`}
        </span>
        <span class="clip">{progress && progress.state === "running" && job.asked === "go" ? `${rate(progress.rate)} · ${remaining(progress.eta === null ? null : progress.eta * 1000)}` : ""}</span>
      </p>
    </div>
  );
}

function Result({ result }: { result: RestoreResult }) {
  return (
    <div class="stack tight">
      <p class="small soft">{counted(result.files, "file")}, {size(result.bytes)}, in {span(result.seconds * 1000)}. Every byte was verified.</p>
      {result.damaged.length > 0 && (
        <details open>
          <summary class="bad-words"><Icon name="forward" size={16} />{counted(result.damaged.length, "file")} damaged, and not handed over</summary>
          <ul class="inside small named" tabIndex={0} aria-label="Damaged files">{result.damaged.map((one) => <li key={one.path}><span class="code"><bdi>{shown(one.path)}</bdi></span> <span class="soft">{one.problem.title}</span></li>)}</ul>
          <p class="small soft">An earlier snapshot may have them whole. Once <code>copal check --read-data</code> has found the damage, the next backup of the same folder mends what it still has.</p>
        </details>
      )}
      {result.skipped.length > 0 && (
        <details>
          <summary><Icon name="forward" size={16} />{counted(result.skipped.length, "entry", "entries")} not written</summary>
          <ul class="inside small named" tabIndex={0} aria-label="Not written">{result.skipped.map((one) => <li key={one.path}><span class="code"><bdi>{shown(one.path)}</bdi></span> <span class="soft">{SKIPPED[one.why]}</span></li>)}</ul>
        </details>
      )}
    </div>
  );
}
