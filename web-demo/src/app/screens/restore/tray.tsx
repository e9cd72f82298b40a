/** The tray: downloads and restores on their way, and how they ended. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { RestoreProgress, RestoreResult } from "../../../core/api";
import { plain } from "../../../words/plain";
import { browse } from "../../../words/browse";
import type { App } from "../../app";
import { isQuiet, type Job } from "../../jobs";
import { Icon } from "../../parts/icon";
import { Progress } from "../../parts/progress";
import { say } from "../../parts/say";
import { parts } from "../../../words/parts";
import { problems } from "../../../words/problems";
import { unseen } from "../../parts/unseen";
import { percent, rate, remaining, shown, size, span } from "../../words";

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
    <section class={isOpen.value ? "tray card open" : "tray card"} aria-label={browse.tray.title}>
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
    if (end) say(end.at === "done" ? browse.tray.done(title) : `${title}: ${problems[end.problem.code].title}`);
  }, [end, title]);
  return null;
}

/** The jobs in a few words: all that a phone shows of them until the tray is opened. */
function summary(jobs: readonly Job[]): string {
  const words = browse.tray;
  const running = jobs.filter((job) => job.end === null);
  const bad = jobs.filter(isBad).length;
  const ended = jobs.length - running.length - bad;
  const [total, done] = [sum(running, (bytes) => bytes.total), sum(running, (bytes) => bytes.done)];
  return [
    running.length > 0 ? words.running(running.length, total > 0 ? percent(done, total) : null) : "",
    bad > 0 ? words.troubled(bad) : "",
    ended > 0 ? words.finished(ended) : "",
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
  const facts = done.length === 0 ? browse.tray.stopped : browse.tray.verified(files, size(bytes));
  return (
    <li class="job finished">
      <span class={done.length > 0 ? "job-icon good" : "job-icon"}><Icon name={done.length > 0 ? "check" : "close"} /></span>
      <p class="grow clip"><span class="strong">{jobs.map((job, i) => <span key={job.id}>{i > 0 && ", "}<bdi>{shown(job.title)}</bdi></span>)}</span> <span class="small soft">{facts}</span></p>
      <button type="button" class="button small" onClick={() => app.jobs.clear()}>{browse.tray.clear(unseen)}</button>
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
  const { end, title } = job;
  const words = browse.tray;
  const bad = isBad(job);
  return (
    <li class="job">
      <span class={bad ? "job-icon bad" : end ? "job-icon good" : "job-icon"}><Icon name={bad ? "warning" : end ? "check" : job.kind === "into" ? "into" : "download"} /></span>
      <div class="grow">
        <p class="strong clip"><bdi>{shown(title)}</bdi></p>
        {end === null ? <Going job={job} /> : end.at === "done" ? <Result result={end.result} /> : <p class="small soft">{problems[end.problem.code].title}. {problems[end.problem.code].advice}</p>}
      </div>
      <div class="row firm">
        {end === null ? (
          <>
            {job.asked === "pause"
              ? <button type="button" class="button icon small" aria-label={words.resume(title)} onClick={() => app.jobs.ask(job.id, "go")}><Icon name="play" size={16} /></button>
              : <button type="button" class="button icon small" aria-label={words.pause(title)} disabled={job.asked === "cancel"} onClick={() => app.jobs.ask(job.id, "pause")}><Icon name="pause" size={16} /></button>}
            <button type="button" class="button icon small" aria-label={words.stop(title)} disabled={job.asked === "cancel"} onClick={() => app.jobs.ask(job.id, "cancel")}><Icon name="close" size={16} /></button>
          </>
        ) : <button type="button" class="button plain icon small" aria-label={words.dismiss(title)} onClick={() => app.jobs.dismiss(job.id)}><Icon name="close" size={16} /></button>}
      </div>
    </li>
  );
}

function Going({ job }: { job: Job }) {
  const { progress } = job;
  const words = browse.tray;
  const part = progress && progress.bytes.total > 0 ? progress.bytes.done / progress.bytes.total : null;
  const halted = job.asked === "pause" || progress?.state === "offline";
  return (
    <div class="stack tight">
      <Progress part={progress && progress.bytes.total === 0 ? 0 : part} label={job.title} state={halted ? "halted" : "running"} />
      <p class="small soft row ends firm">
        <span class="clip">
          {job.asked === "cancel" ? parts.stopping : progress === null ? parts.gettingReady
            : job.asked === "pause" ? words.paused
            : progress.state === "offline" || progress.state === "retrying" ? parts.goesOn(progress.problem ? problems[progress.problem.code].title : parts.noAnswer)
            : words.progress(size(progress.bytes.done), size(progress.bytes.total), progress.files.done, progress.files.total)}
        </span>
        <span class="clip">{progress && progress.state === "running" && job.asked === "go" ? `${rate(progress.rate)} · ${remaining(progress.eta === null ? null : progress.eta * 1000)}` : ""}</span>
      </p>
    </div>
  );
}

function Result({ result }: { result: RestoreResult }) {
  const words = browse.tray;
  const kept = result.skipped.filter(({ why }) => why === "exists").length;
  return (
    <div class="stack tight">
      <p class="small soft">{result.files === 0 && kept > 0 ? words.nothingWritten : words.verified(result.files, size(result.bytes), span(result.seconds * 1000))}</p>
      {kept > 0 && <p class="small">{words.kept(kept)}</p>}
      {result.damaged.length > 0 && (
        <details open>
          <summary class="bad-words"><Icon name="forward" size={16} />{words.damaged(result.damaged.length)}</summary>
          <ul class="inside small named" tabIndex={0} aria-label={words.damagedFiles}>{result.damaged.map((one) => <li key={one.path}><span class="code"><bdi>{shown(one.path)}</bdi></span> <span class="soft">{problems[one.problem.code].title}</span></li>)}</ul>
          <p class="small soft">{words.damagedAdvice(<code>copal check --read-data</code>)}</p>
        </details>
      )}
      {result.skipped.length > 0 && (
        <details>
          <summary><Icon name="forward" size={16} />{words.notWritten(result.skipped.length)}</summary>
          <ul class="inside small named" tabIndex={0} aria-label={words.notWrittenList}>{result.skipped.map((one) => <li key={one.path}><span class="code"><bdi>{shown(one.path)}</bdi></span> <span class="soft">{plain.skipped[one.why]}</span></li>)}</ul>
        </details>
      )}
    </div>
  );
}
