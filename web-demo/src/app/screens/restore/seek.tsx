/** Searching in all snapshots: by name, kind, time and size. A hit opens in the newest snapshot that has it. */

import { useEffect, useRef } from "preact/hooks";
import type { FileKind, Hit, Snapshot } from "../../../core/api";
import { parentOf } from "../../../core/restore/names";
import type { App } from "../../app";
import { Crumbs } from "../../parts/crumbs";
import { Icon } from "../../parts/icon";
import { Empty, ProblemNotice } from "../../parts/notice";
import { Rows } from "../../parts/rows";
import { browse } from "../../../words/browse";
import { versions as words } from "../../../words/versions";
import { baseName, shown, size, stamp, within } from "../../words";
import { KINDS } from "./browse";
import { seriesOf } from "./snapshots";

export function Seek({ app }: { app: App }) {
  const { seeking } = app;
  const pause = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (app.snapshots.value.at !== "here") void app.loadSnapshots();
    return () => clearTimeout(pause.current);
  }, [app]);
  const asked = seeking.asked.value;
  const sought = seeking.sought.value;
  const snapshots = app.snapshots.value.at === "here" ? app.snapshots.value.value.snapshots : [];
  const byId = new Map(snapshots.map((one) => [one.id, one]));
  const all = seriesOf(snapshots);
  const made = (id: string) => { const one = byId.get(id); return one ? app.whenMade.value(one, Date.now()) : words.aSnapshot; };
  const open = ({ entry, newest }: Hit) => {
    const snapshot = byId.get(newest);
    if (!snapshot) return;
    const folder = entry.kind === "directory" ? entry.id : parentOf(entry.id);
    const path = entry.kind === "directory" ? entry.path : entry.path.slice(0, Math.max(0, entry.path.length - entry.name.length - 1));
    app.route.go({ screen: "restore", snapshot, crumbs: folder === "" ? [] : [{ id: folder, name: path }], ...(entry.kind === "directory" ? {} : { at: entry.id }) });
  };
  return (
    <>
      <header class="page-head">
        <Crumbs app={app} way={[{ name: words.seek.title }]} />
        <h1>{words.seek.heading}</h1>
      </header>
      <form class="seek" role="search" aria-label={words.seek.all} onSubmit={(event) => { event.preventDefault(); clearTimeout(pause.current); void seeking.seek(); }}>
        <div class="with-icon seek-name">
          <Icon name="search" size={18} />
          <input class="input" type="search" placeholder={words.seek.example} aria-label={words.seek.name} spellcheck={false} autocomplete="off" data-landing defaultValue={asked.name}
            onInput={(event) => {
              const name = event.currentTarget.value;
              clearTimeout(pause.current);
              pause.current = setTimeout(() => void seeking.change({ name }), 250);
            }} />
        </div>
        <label class="field">
          <span class="label">{words.seek.kind}</span>
          <select class="input" value={asked.kind ?? ""} onChange={(event) => void seeking.change({ kind: (event.currentTarget.value || null) as FileKind | null })}>
            <option value="">{words.seek.anyKind}</option>
            {(Object.keys(words.seek.kinds) as FileKind[]).map((kind) => <option key={kind} value={kind}>{words.seek.kinds[kind]}</option>)}
          </select>
        </label>
        <label class="field">
          <span class="label">{words.seek.size}</span>
          <select class="input" value={asked.sizeFrom ?? ""} onChange={(event) => void seeking.change({ sizeFrom: Number(event.currentTarget.value) || null })}>
            <option value="">{words.seek.anySize}</option>
            {SIZES.map((bytes) => <option key={bytes} value={bytes}>{words.seek.andMore(size(bytes).replace(/[.,]00/, ""))}</option>)}
          </select>
        </label>
        {all.length > 1 && (
          <label class="field">
            <span class="label">{words.seek.where}</span>
            <select class="input" value={asked.series ?? ""} onChange={(event) => void seeking.change({ series: event.currentTarget.value || null })}>
              <option value="">{words.seek.anywhere}</option>
              {all.map((one) => <option key={one.series} value={one.series}>{shown(one.source)} · {shown(one.device)}</option>)}
            </select>
          </label>
        )}
        <label class="field">
          <span class="label">{words.seek.from}</span>
          <input class="input" type="date" defaultValue={dateOf(asked.modifiedFrom)} onChange={(event) => void seeking.change({ modifiedFrom: timeOf(event.currentTarget.value, 0) })} />
        </label>
        <label class="field">
          <span class="label">{words.seek.until}</span>
          <input class="input" type="date" defaultValue={dateOf(asked.modifiedTo)} onChange={(event) => void seeking.change({ modifiedTo: timeOf(event.currentTarget.value, 1) })} />
        </label>
      </form>
      {sought?.problem && <ProblemNotice problem={sought.problem} retry={() => void seeking.seek()} />}
      <p class="list-status small soft" role="status">
        {sought?.running ? words.seek.searching(sought.looked, sought.total, sought.hits.length) : sought && words.seek[sought.more ? "foundMore" : "found"](sought.hits.length, sought.total)}
      </p>
      {sought === null ? <Empty icon="search" title={words.seek.ask}><p>{words.seek.askWhy}</p></Empty>
        : sought.hits.length === 0 && !sought.running ? (sought.problem ? null : <Empty icon="search" title={words.seek.none}><p>{words.seek.noneWhy}</p></Empty>)
        : <Rows<Hit> label={words.seek.hits} rows={sought.hits} rowHeight={64} look="hits" columns={3} keyOf={(hit) => `${hit.newest} ${hit.entry.id}`} open={open}
          cells={(hit) => <Cells hit={hit} of={byId.get(hit.newest) ?? null} made={made} />} />}
    </>
  );
}

function Cells({ hit: { entry, newest, oldest, count: number }, of, made }: { hit: Hit; of: Snapshot | null; made: (id: string) => string }) {
  const kind = KINDS[entry.kind];
  const where = entry.path.slice(0, Math.max(0, entry.path.length - baseName(entry.path).length - 1));
  return (
    <>
      <div role="gridcell" class="name">
        <span class={`kind ${entry.kind}`}><Icon name={kind.icon} /><span class="unseen">{kind.words} </span></span>
        <span class="two">
          <span class="clip"><bdi>{shown(entry.name)}</bdi> <span class="small faint"><bdi>{where === "" ? browse.atTheTop : shown(where)}</bdi></span></span>
          <span class="small soft clip">{words.where("in", number, within(made(oldest)), within(made(newest)))}{of && <> · <bdi>{shown(of.source)}</bdi> · <bdi>{shown(of.device)}</bdi></>}</span>
        </span>
      </div>
      <div role="gridcell" class="number size soft">{entry.kind === "file" ? size(entry.size) : ""}</div>
      <div role="gridcell" class="modified soft">{entry.modified === null ? "" : stamp(entry.modified)}</div>
    </>
  );
}

/** The start of a day, `days` later less a millisecond where there are any; null for no day. */
function timeOf(date: string, days: number): number | null {
  const [year, month, day] = date.split("-").map(Number);
  if (!year || !month || !day) return null;
  return new Date(year, month - 1, day + days).getTime() - days;
}

function dateOf(time: number | null): string {
  return time === null ? "" : stamp(time).slice(0, 10);
}

const SIZES = [1, 10, 100, 1024].map((mib) => mib * 1024 * 1024);
