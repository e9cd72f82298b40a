/** The snapshots: every complete backup, newest first; two of them can be compared. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Snapshot } from "../../../core/api";
import { restore as words } from "../../../words/restore";
import type { App } from "../../app";
import { tagsOf } from "../../marking";
import { Bones } from "../../parts/asked";
import { Icon } from "../../parts/icon";
import { Badge, Empty, Notice, ProblemNotice } from "../../parts/notice";
import { Rows } from "../../parts/rows";
import { problems } from "../../../words/problems";
import { shell } from "../../../words/shell";
import { unseen } from "../../parts/unseen";
import { ago, shown, size } from "../../words";
import { Marks } from "./marks";

export function Snapshots({ app }: { app: App }) {
  const { marking } = app;
  const isForgotten = marking.forgotten.value !== null;
  const asked = marking.forgotten.value ?? app.snapshots.value;
  const series = useSignal("");
  const tag = useSignal("");
  const selected = useSignal<readonly string[]>([]);
  useEffect(() => { void app.loadSnapshots(); return () => marking.forget(); }, [app]);

  if (asked.at === "asking") return <><Head app={app} /><Bones says={words.reading} lines={5} /></>;
  const show = (forgotten: boolean) => { [selected.value, series.value, tag.value] = [[], "", ""]; void marking.showForgotten(forgotten); };
  if (asked.at === "failed") return <><Head app={app} /><ProblemNotice problem={asked.problem} retry={() => (isForgotten ? show(true) : void app.loadSnapshots())} /></>;
  const { snapshots, damage } = asked.value;
  const all = seriesOf(snapshots);
  const tags = tagsOf(snapshots);
  const rows = snapshots.filter((one) => (series.value === "" || one.series === series.value) && (tag.value === "" || one.tags.includes(tag.value)));
  const ticked = rows.filter((one) => selected.value.includes(one.id));
  const compare = () => {
    const [after, before] = ticked;
    if (before && after) app.route.go({ screen: "restore", compare: { before, after } });
  };
  const toggle = (snapshot: Snapshot) => {
    const others = selected.value.filter((id) => id !== snapshot.id);
    selected.value = others.length < selected.value.length ? others : [...others, snapshot.id];
  };
  const narrow = (by: typeof series) => (event: { currentTarget: HTMLSelectElement }) => { by.value = event.currentTarget.value; selected.value = []; };

  return (
    <>
      <Head app={app} />
      {damage.length > 0 && (
        <Notice tone="bad" title={words.unread.title(damage.length)} urgent>
          {damage.some(({ code }) => code === "damaged") && <p class="soft">{words.unread.advice(<code>copal check</code>)}</p>}
          {damage.some(({ code }) => code === "descriptions-too-long") && <p class="soft">{problems["descriptions-too-long"].advice}</p>}
          <ul class="bullets small">{damage.slice(0, 5).map((problem, i) => <li key={i}>{problems[problem.code].title}{problem.subject && <> <span class="code">{shown(problem.subject)}</span></>}</li>)}</ul>
        </Notice>
      )}
      {snapshots.length === 0 && !isForgotten ? (
        <>
          <Marks app={app} ticked={[]} done={() => {}} />
          <Empty icon="restore" title={words.none.title}><p>{words.none.means}</p><button type="button" class="button main" onClick={() => app.route.go({ screen: "backup" })}>{words.none.backUp}</button><button type="button" class="button plain" onClick={() => show(true)}>{words.forgottenSnapshots}</button></Empty>
        </>
      ) : (
        <>
          <div class="toolbar">
            {all.length > 1 ? (
              <label class="row firm">
                <span class="unseen">{words.whichSeries}</span>
                <select class="input narrow" value={series.value} onChange={narrow(series)}>
                  <option value="">{words.allSeries}</option>
                  {all.map((one) => <option key={one.series} value={one.series}>{shown(one.source)} · {shown(one.device)} ({one.number})</option>)}
                </select>
              </label>
            ) : <p class="soft small">{words.number(snapshots.length)}</p>}
            {tags.length > 0 && (
              <label class="row firm">
                <span class="unseen">{words.whichTag}</span>
                <select class="input narrow" value={tag.value} onChange={narrow(tag)}>
                  <option value="">{words.allTags}</option>
                  {tags.map((one) => <option key={one} value={one}>{shown(one)}</option>)}
                </select>
              </label>
            )}
            <span class="grow" />
            <button type="button" class="button" onClick={() => app.route.go({ screen: "restore", seek: true })}><Icon name="search" size={18} />{words.search(unseen)}</button>
            <button type="button" class="button" onClick={() => app.route.go({ screen: "restore", shares: true })}><Icon name="link" size={18} />{words.shares}</button>
            <button type="button" class="button" aria-pressed={isForgotten} onClick={() => show(!isForgotten)}><Icon name="trash" size={18} />{words.forgotten}</button>
            {!isForgotten && <button type="button" class="button" disabled={ticked.length !== 2} onClick={compare} title={words.compareHow}><Icon name="compare" size={18} />{words.compare(ticked.length)}</button>}
          </div>
          <Marks app={app} ticked={ticked} done={() => { selected.value = []; }} />
          {isForgotten && snapshots.length === 0 && <Empty icon="trash" title={words.noneForgotten.title}><p>{words.noneForgotten.means}</p></Empty>}
          {rows.length > 0 && <Rows<Snapshot> label={isForgotten ? words.forgottenSnapshots : words.snapshots} rows={rows} rowHeight={68} look="snapshots" columns={4} keyOf={(snapshot) => snapshot.id} cells={(snapshot) => <Cells snapshot={snapshot} made={app.whenMade.value(snapshot, Date.now())} ticked={selected.value.includes(snapshot.id)} />}
            open={(snapshot) => (isForgotten ? toggle(snapshot) : app.route.go({ screen: "restore", snapshot, crumbs: [] }))} isSelected={(snapshot) => selected.value.includes(snapshot.id)} toggle={toggle} />}
        </>
      )}
    </>
  );
}

function Head({ app }: { app: App }) {
  return (
    <header class="page-head">
      <div class="row ends">
        <h1>{shell.screens.restore}</h1>
        <button type="button" class="button small" onClick={() => app.route.go({ screen: "restore", kept: true })}><Icon name="clock" size={16} />{words.kept.title}</button>
      </div>
      <p class="soft">{words.lead}</p>
    </header>
  );
}

function Cells({ snapshot, made, ticked }: { snapshot: Snapshot; made: string; ticked: boolean }) {
  return (
    <>
      <div role="gridcell" class="tick-cell" data-tick><Tick on={ticked} /></div>
      <div role="gridcell" class="two">
        <span class="strong clip">{made}</span>
        <span class="small soft clip">{snapshot.pinned && <span class="pinned" title={words.pinnedMeans}><Icon name="pin" size={14} />{unseen(words.pinned)}</span>}<bdi>{shown(snapshot.source)}</bdi> · <bdi>{shown(snapshot.device)}</bdi>{snapshot.tags.map((tag) => <span key={tag} class="tag">{shown(tag)}</span>)}</span>
      </div>
      <div role="gridcell" class="two facts">
        <span>{size(snapshot.bytes)}</span>
        <span class="small soft">{words.files(snapshot.files)}</span>
      </div>
      <div role="gridcell" class="state">
        {snapshot.forgotten === null ? <Receipt snapshot={snapshot} /> : <Badge tone="warn" icon="trash">{words.forgottenAgo(ago(snapshot.forgotten, Date.now()))}</Badge>}
        {snapshot.troubles.unreadable > 0 ? <Badge tone="warn" icon="warning">{words.missing}</Badge>
          : snapshot.troubles.changing > 0 && <Badge tone="warn" icon="warning">{words.changing}</Badge>}
      </div>
    </>
  );
}

export function Receipt({ snapshot }: { snapshot: Snapshot }) {
  if (snapshot.receipt === "waiting") return <Badge tone="calm" icon="clock">{words.waiting}</Badge>;
  return <Badge tone="good" icon="shield">{snapshot.verifiedBy === "service" ? words.verifiedByService : words.verified}</Badge>;
}

export function Tick({ on }: { on: boolean }) {
  return <span class={on ? "tick-box on" : "tick-box"} aria-hidden="true">{on && <Icon name="check" size={14} />}</span>;
}

/** The series there are, those with the newest snapshot first. */
export function seriesOf(snapshots: readonly Snapshot[]): { series: string; source: string; device: string; number: number }[] {
  const found = new Map<string, { series: string; source: string; device: string; number: number }>();
  for (const snapshot of snapshots) {
    const known = found.get(snapshot.series);
    if (known) known.number += 1;
    else found.set(snapshot.series, { series: snapshot.series, source: snapshot.source, device: snapshot.device, number: 1 });
  }
  return [...found.values()];
}
