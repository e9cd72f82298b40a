/** Status: whether what was saved is verified and sound, and what it takes. */

import { useEffect } from "preact/hooks";
import type { Session, Status as Facts } from "../../../core/api";
import type { App } from "../../app";
import { SizeChart } from "../../parts/chart";
import { Icon } from "../../parts/icon";
import { Alarms } from "./alarms";
import { Growth } from "./growth";
import { Upkeep } from "./upkeep";
import { Badge, Empty, Notice, ProblemNotice } from "../../parts/notice";
import { ago, counted, shown, size, whenAmong } from "../../words";

export function Status({ app, session }: { app: App; session: Session }) {
  const asked = app.status.value;
  useEffect(() => { void app.loadStatus(); void app.upkeep.load(); void app.watch("closely"); }, [app]);
  return (
    <div class="page stack wide">
      <header class="page-head"><h1>Status</h1></header>
      <Alarms app={app} />
      {asked.at === "asking" && <div class="stack" role="status"><span class="unseen">Reading the status</span><div class="bone verdict-bone" /><div class="bone chart-bone" /><div class="bone chart-bone" /></div>}
      {asked.at === "failed" && <ProblemNotice problem={asked.problem} retry={() => void app.loadStatus()} />}
      {asked.at === "here" && <Shown app={app} status={asked.value} session={session} />}
    </div>
  );
}

function Shown({ app, status, session }: { app: App; status: Facts; session: Session }) {
  const { space, history } = status;
  return (
    <>
      <Verdict status={status} />
      <Unfinished app={app} status={status} />
      {session.role === "full" && <Upkeep app={app} status={status} />}
      {space && space.sourceBytes > 0 && <Space space={space} />}
      {history.length > 1 && (
        <section class="card padded stack">
          <div><h2>Size of the repository</h2><p class="small soft">What is stored, encrypted, after each change.</p></div>
          <SizeChart label="Size of the repository" points={history.map((one) => ({ time: one.time, bytes: one.storedBytes }))} />
        </section>
      )}
      {session.role === "full" && <Growth app={app} status={status} />}
      <Receipts status={status} session={session} />
    </>
  );
}

/** Backups that are under way or were interrupted. Their steps are verified too, but are no backups yet. */
function Unfinished({ app, status }: { app: App; status: Facts }) {
  const { resumable, unfinishedSteps: steps } = status;
  const backing = app.backing.state.value;
  const running = backing.at === "running" ? backing.options.label : null;
  if (!isUnfinished(status)) return null;
  return (
    <Notice title={resumable.length < 2 ? "An unfinished backup" : `${counted(resumable.length, "backup")} are unfinished`}>
      {resumable.map((one) => (
        <p key={one.label} class="soft"><bdi>{shown(one.label)}</bdi>, {one.label === running ? "running now" : ago(one.time, Date.now())}: {size(one.bytes)} are kept.{one.label !== running && " Back it up again, and it goes on from there."}</p>
      ))}
      {steps > 0 && <p class="soft">{counted(steps, "step")} of it {steps === 1 ? "is" : "are"} being verified.</p>}
    </Notice>
  );
}

function isUnfinished({ resumable, unfinishedSteps }: Facts): boolean {
  return resumable.length > 0 || unfinishedSteps > 0;
}

/** One sentence that says whether one may sleep. */
function Verdict({ status }: { status: Facts }) {
  const rejected = status.receipts.filter((one) => one.state === "rejected");
  const waiting = status.receipts.filter((one) => one.state === "waiting");
  const newest = status.receipts[0];
  const check = status.lastCheck;
  const now = Date.now();
  const damage = check?.outcome === "damage";
  const tone = damage || rejected.length > 0 ? "bad" : newest ? (waiting.length > 0 ? "calm" : "good") : "calm";
  const title = damage ? "The last check found damage"
    : rejected.length > 0 ? `${counted(rejected.length, "backup")} ${rejected.length === 1 ? "was" : "were"} not accepted`
    : !newest ? (isUnfinished(status) ? "No backup has finished yet" : "Nothing is backed up yet")
    : waiting.length > 0 ? `${counted(waiting.length, "backup")} ${waiting.length === 1 ? "waits" : "wait"} to be verified`
    : "All backups are verified";
  return (
    <section class="card padded stack">
      <div class="verdict">
        <span class={`verdict-icon ${tone}`}><Icon name={tone === "good" ? "shield" : tone === "bad" ? "warning" : "clock"} size={28} /></span>
        <div class="grow">
          <h2 class="verdict-words">{title}</h2>
          <p class="soft">
            {newest ? `Newest backup ${ago(newest.time, now)}. ` : ""}
            {check ? `Last check ${ago(check.time, now)}${check.readBytes === null ? "" : `, ${size(check.readBytes)} read and hashed`}${damage ? "." : ": sound."}` : "Not checked yet."}
          </p>
        </div>
      </div>
      {damage && (
        <>
          <ul class="bullets small">{check.findings.map((finding) => <li key={finding}>{shown(finding)}</li>)}</ul>
          <p class="soft">Back up the same folders again: what they still have is stored anew. Then whoever runs the repository should run <code>copal repair</code>, which says what is still lost.</p>
        </>
      )}
      {rejected.map((one) => one.problem && <ProblemNotice key={one.snapshot} problem={one.problem} urgent={false} />)}
    </section>
  );
}

function Space({ space }: { space: NonNullable<Facts["space"]> }) {
  const { sourceBytes, newestBytes, storedBytes } = space;
  const bars = [
    { name: "All snapshots, each as a full copy", bytes: sourceBytes, look: "pale", note: "" },
    { name: "The newest of each alone", bytes: newestBytes, look: "mid", note: "" },
    { name: "Stored, deduplicated and compressed", bytes: storedBytes, look: "full", note: less(sourceBytes, storedBytes) },
  ];
  const widest = Math.max(...bars.map((bar) => bar.bytes));
  const times = storedBytes > 0 ? sourceBytes / storedBytes : 0;
  return (
    <section class="card padded stack">
      <div class="row ends">
        <div><h2>Space saved</h2><p class="small soft">What your snapshots hold, and what it takes to keep them.</p></div>
        {times >= 1.05 && <p class="big-figure">{times >= 10 ? Math.floor(times) : times.toFixed(1)}× <small>smaller</small></p>}
      </div>
      <dl class="bars">
        {bars.map((bar) => (
          <div key={bar.name} class="bar-row">
            <dt>{bar.name}</dt>
            <dd><span class="strong">{size(bar.bytes)}</span>{bar.note && <span class="small soft">{bar.note}</span>}</dd>
            <div class="bar" aria-hidden="true"><div class={bar.look} style={{ transform: `scaleX(${widest > 0 ? Math.max(0.004, bar.bytes / widest) : 0})` }} /></div>
          </div>
        ))}
      </dl>
    </section>
  );
}

function less(before: number, after: number): string {
  if (before <= 0 || after >= before) return "";
  return `${Math.min(99, Math.floor(100 * (1 - after / before)))} % less`;
}

function Receipts({ status, session }: { status: Facts; session: Session }) {
  const now = Date.now();
  const made = whenAmong(status.receipts);
  return (
    <section class="card">
      <header><h2>{session.role === "write-only" ? "Backups of this device" : "Backups"}</h2></header>
      {status.receipts.length === 0
        ? <Empty icon="backup" title="None yet"><p>Once there is a backup, this says whether the service has verified it.</p></Empty>
        : (
          <div class="scroll-x receipts" tabIndex={0} role="region" aria-label="Backups and whether they are verified">
            <table class="table">
              <thead><tr><th scope="col">Time</th><th scope="col">Backup</th><th scope="col">State</th></tr></thead>
              <tbody>
                {status.receipts.slice(0, RECEIPTS_MAX).map((one) => (
                  <tr key={one.snapshot}>
                    <td class="nowrap">{made(one, now)}</td>
                    <td class="wrap"><bdi>{shown(one.source)}</bdi></td>
                    <td>{one.state === "verified" ? <Badge tone="good" icon="shield">Verified</Badge> : one.state === "waiting" ? <Badge tone="calm" icon="clock">Waiting</Badge> : <Badge tone="bad" icon="warning">Not accepted</Badge>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            {status.receipts.length > RECEIPTS_MAX && <p class="small soft rows-end">The newest {RECEIPTS_MAX} of {counted(status.receipts.length, "backup")}.</p>}
          </div>
        )}
    </section>
  );
}

const RECEIPTS_MAX = 200;
