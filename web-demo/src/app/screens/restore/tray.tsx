/** The tray: downloads and restores on their way, and how they ended. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { RestoreProgress, RestoreResult } from "../../../core/api";
import type { App } from "../../app";
import { isQuiet, type Job } from "../../jobs";
import { SKIPPED } from "../../plain";
import { Icon } from "../../parts/icon";
import { Progress } from "../../parts/progress";
import { say } from "../../parts/say";
import { count, counted, percent, rate, remaining, shown, size, span } from "../../words";

export function Tray({ app }: { app: App }) {
  const jobs = app.jobs.jobs.value;
  const quiet = jobs.filter(isQuiet);
  const others = jobs.filter((job) => !isQuiet(job));
  const isOpen = useSignal(false);
  useEffect(() => {
    const look = () => { if (document.visibilityState === "visible") app.jobs.see(); };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [app, jobs]);
  if (jobs.length === 0) return null;
  return (
    <section class={isOpen.value ? "tray card open" : "tray card"} aria-label="Downloads and restores">
      {jobs.map((job) => <Spoken key={job.id} job={job} />)}
      <button type="button" class="tray-line" aria-expanded={isOpen.value} onClick={() => { isOpen.value = !isOpen.value; }}>
        <Icon name={others.some(isBad) ? "warning" : "download"} size={18} />
        <span class="clip">{summary(jobs)}</span>
        <Icon name={isOpen.value ? "down" : "up"} size={18} />
      </button>
      <ul>
        {others.map((job) => <Item key={job.id} app={app} job={job} />)}
        {quiet.length > 0 && <Finished app={app} jobs={quiet} />}
      </ul>
    </section>
  );
}

/** Says to a screen reader how a job has ended. */
function Spoken({ job: { end, title } }: { job: Job }) {
  useEffect(() => {
    if (end) say(end.at === "done" ? `${title}: done` : `${title}: ${end.problem.title}`);
  }, [end, title]);
  return null;
}

/** The jobs in a few words: all that a phone shows of them until the tray is opened. */
function summary(jobs: readonly Job[]): string {
  const running = jobs.filter((job) => job.end === null);
  const bad = jobs.filter(isBad).length;
  const ended = jobs.length - running.length - bad;
  const [total, done] = [sum(running, (bytes) => bytes.total), sum(running, (bytes) => bytes.done)];
  return [
    running.length > 0 ? `${running.length} running${total > 0 ? `, ${percent(done, total)}` : ""}` : "",
    bad > 0 ? `${bad} with trouble` : "",
    ended > 0 ? `${ended} finished` : "",
  ].filter(Boolean).join(" · ");
}

function sum(jobs: readonly Job[], of: (bytes: RestoreProgress["bytes"]) => number): number {
  return jobs.reduce((all, { progress }) => all + (progress ? of(progress.bytes) : 0), 0);
}

/** All that ended without trouble, in one line. */
function Finished({ app, jobs }: { app: App; jobs: readonly Job[] }) {
  const done = jobs.flatMap(({ end }) => (end?.at === "done" ? end.result : []));
  const files = done.reduce((all, result) => all + result.files, 0);
  const bytes = done.reduce((all, result) => all + result.bytes, 0);
  const facts = done.length === 0 ? "Stopped." : `${counted(files, "file")}, ${size(bytes)}. Every byte was verified.`;
  return (
    <li class="job finished">
      <span class={done.length > 0 ? "job-icon good" : "job-icon"}><Icon name={done.length > 0 ? "check" : "close"} /></span>
      <p class="grow clip"><span class="strong">{jobs.map((job, i) => <span key={job.id}>{i > 0 && ", "}<bdi>{shown(job.title)}</bdi></span>)}</span> <span class="small soft">{facts}</span></p>
      <button type="button" class="button small" onClick={() => app.jobs.clear()}>Clear<span class="unseen"> what has finished</span></button>
    </li>
  );
}

function isBad({ end }: Job): boolean {
  if (end === null) return false;
  if (end.at === "ended") return end.problem.code !== "cancelled";
  const { damaged, files, skipped } = end.result;
  return damaged.length > 0 || (files === 0 && skipped.length > 0);
}

/** A job that runs, or that ended with something to be read. */
function Item({ app, job }: { app: App; job: Job }) {
  const { end } = job;
  const bad = isBad(job);
  return (
    <li class="job">
      <span class={bad ? "job-icon bad" : end ? "job-icon good" : "job-icon"}><Icon name={bad ? "warning" : end ? "check" : job.kind === "into" ? "into" : "download"} /></span>
      <div class="grow">
        <p class="strong clip"><bdi>{shown(job.title)}</bdi></p>
        {end === null ? <Going job={job} /> : end.at === "done" ? <Result result={end.result} /> : <p class="small soft">{end.problem.title}. {end.problem.advice}</p>}
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
  const kept = result.skipped.filter(({ why }) => why === "exists").length;
  return (
    <div class="stack tight">
      <p class="small soft">{result.files === 0 && kept > 0 ? "Nothing was written." : `${counted(result.files, "file")}, ${size(result.bytes)}, in ${span(result.seconds * 1000)}. Every byte was verified.`}</p>
      {kept > 0 && <p class="small">{kept === 1 ? "1 file or folder of that name was there already, and stays as it was." : `${count(kept)} files or folders of that name were there already, and stay as they were.`} Restore again to keep both, or to replace them.</p>}
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
