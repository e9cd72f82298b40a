/** Status: whether what was saved is verified and sound, and what it takes. */

import { useEffect } from "preact/hooks";
import type { Session, Status as Facts } from "../../../core/api";
import { alarms } from "../../../words/alarms";
import { digits } from "../../../words/numbers";
import { shell } from "../../../words/shell";
import { status as words } from "../../../words/status";
import type { App } from "../../app";
import { Asked } from "../../parts/asked";
import { SizeChart } from "../../parts/chart";
import { Icon } from "../../parts/icon";
import { Alarms } from "./alarms";
import { Found } from "./found";
import { Growth } from "./growth";
import { Upkeep } from "./upkeep";
import { Badge, Empty, Notice, ProblemNotice } from "../../parts/notice";
import { ago, shown, size, whenAmong } from "../../words";

export function Status({ app, session }: { app: App; session: Session }) {
  useEffect(() => { void app.loadStatus(); void app.upkeep.load(); void app.watch("closely"); }, [app]);
  return (
    <div class="page stack wide">
      <header class="page-head"><h1>{shell.screens.status}</h1></header>
      <Alarms app={app} />
      <Asked asked={app.status.value} retry={() => void app.loadStatus()}
        waiting={<div class="stack" role="status"><span class="unseen">{words.reading}</span><div class="bone verdict-bone" /><div class="bone chart-bone" /><div class="bone chart-bone" /></div>}>
        {(status) => <Shown app={app} status={status} session={session} />}
      </Asked>
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
          <div><h2>{words.sizeOfRepository}</h2><p class="small soft">{words.sizeAbout}</p></div>
          <SizeChart label={words.sizeOfRepository} points={history.map((one) => ({ time: one.time, bytes: one.storedBytes }))} />
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
    <Notice title={words.unfinished(resumable.length)}>
      {resumable.map((one) => (
        <p key={one.label} class="soft">{words.unfinishedOne(<bdi>{shown(one.label)}</bdi>, one.label === running ? null : ago(one.time, Date.now()), size(one.bytes))}</p>
      ))}
      {steps > 0 && <p class="soft">{words.unfinishedSteps(steps)}</p>}
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
  const { verdict } = words;
  const title = damage ? alarms.damage
    : rejected.length > 0 ? verdict.refused(rejected.length)
    : !newest ? (isUnfinished(status) ? verdict.noneFinished : verdict.nothing)
    : waiting.length > 0 ? verdict.waiting(waiting.length)
    : verdict.good;
  return (
    <section class="card padded stack">
      <div class="verdict">
        <span class={`verdict-icon ${tone}`}><Icon name={tone === "good" ? "shield" : tone === "bad" ? "warning" : "clock"} size={28} /></span>
        <div class="grow">
          <h2 class="verdict-words">{title}</h2>
          <p class="soft">
            {newest && `${verdict.newest(ago(newest.time, now))} `}
            {check ? verdict.checked(ago(check.time, now), check.readBytes === null ? null : size(check.readBytes), !damage) : verdict.unchecked}
          </p>
        </div>
      </div>
      {damage && (
        <>
          <Found findings={check.findings} />
          <p class="soft">{verdict.repair(<code>copal repair</code>)}</p>
        </>
      )}
      {rejected.map((one) => one.problem && <ProblemNotice key={one.snapshot} problem={one.problem} urgent={false} />)}
    </section>
  );
}

function Space({ space }: { space: NonNullable<Facts["space"]> }) {
  const { sourceBytes, newestBytes, storedBytes } = space;
  const said = words.space;
  const bars = [
    { name: said.copies, bytes: sourceBytes, look: "pale", note: "" },
    { name: said.newest, bytes: newestBytes, look: "mid", note: "" },
    { name: said.stored, bytes: storedBytes, look: "full", note: less(sourceBytes, storedBytes) },
  ];
  const widest = Math.max(...bars.map((bar) => bar.bytes));
  const times = storedBytes > 0 ? sourceBytes / storedBytes : 0;
  return (
    <section class="card padded stack">
      <div class="row ends">
        <div><h2>{said.title}</h2><p class="small soft">{said.about}</p></div>
        {times >= 1.05 && <p class="big-figure">{times >= 10 ? Math.floor(times) : digits(times, 1)}× <small>{said.smaller}</small></p>}
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
  return words.space.less(Math.min(99, Math.floor(100 * (1 - after / before))));
}

function Receipts({ status, session }: { status: Facts; session: Session }) {
  const now = Date.now();
  const made = whenAmong(status.receipts);
  const said = words.receipts;
  return (
    <section class="card">
      <header><h2>{session.role === "write-only" ? said.ofThisDevice : said.title}</h2></header>
      {status.receipts.length === 0
        ? <Empty icon="backup" title={said.none}><p>{said.noneAbout}</p></Empty>
        : (
          <div class="scroll-x receipts" tabIndex={0} role="region" aria-label={said.table}>
            <table class="table">
              <thead><tr><th scope="col">{words.chart.time}</th><th scope="col">{said.backup}</th><th scope="col">{said.state}</th></tr></thead>
              <tbody>
                {status.receipts.slice(0, RECEIPTS_MAX).map((one) => (
                  <tr key={one.snapshot}>
                    <td class="nowrap">{made(one, now)}</td>
                    <td class="wrap"><bdi>{shown(one.source)}</bdi></td>
                    <td>{one.state === "verified" ? <Badge tone="good" icon="shield">{said.verified}</Badge> : one.state === "waiting" ? <Badge tone="calm" icon="clock">{said.waiting}</Badge> : <Badge tone="bad" icon="warning">{said.rejected}</Badge>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            {status.receipts.length > RECEIPTS_MAX && <p class="small soft rows-end">{said.newestOf(RECEIPTS_MAX, status.receipts.length)}</p>}
          </div>
        )}
    </section>
  );
}

const RECEIPTS_MAX = 200;
