/** The versions of one file over the snapshots: when each was there, what it changed, and taking one of them out. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Entry, Snapshot, Version } from "../../../core/api";
import { versions as words } from "../../../words/versions";
import type { App } from "../../app";
import { Choice } from "../../parts/choice";
import { Crumbs } from "../../parts/crumbs";
import { Icon, type IconName } from "../../parts/icon";
import { Empty, ProblemNotice } from "../../parts/notice";
import { Rows } from "../../parts/rows";
import { changeOf, versionBefore } from "../../versions";
import { shown, size, when, within } from "../../words";
import { Beside, type Shown } from "./beside";
import { Tick } from "./snapshots";

export function Versions({ app, snapshot, entry }: { app: App; snapshot: Snapshot; entry: Entry }) {
  const { tracing } = app;
  const scope = useSignal<"series" | "all">("series");
  const ticked = useSignal<readonly string[]>([]);
  const opened = useSignal<{ before: Shown | null; after: Shown } | null>(null);
  const load = () => void tracing.open(snapshot.id, entry.id, scope.value === "all");
  useEffect(() => {
    ticked.value = [];
    load();
    return () => tracing.forget();
  }, [tracing, snapshot.id, entry.id, scope.value]);

  const { versions, looked, total, running, problem } = tracing.traced.value;
  const known = app.snapshots.value.at === "here" ? app.snapshots.value.value.snapshots : [snapshot];
  const byId = new Map(known.map((one) => [one.id, one]));
  const made = (id: string) => { const one = byId.get(id); return one ? app.whenMade.value(one, Date.now()) : words.olderList; };
  const hasOthers = new Set(known.map(({ series }) => series)).size > 1;
  const present = versions.filter((version) => version.entry !== null);
  const shownOf = (version: Version): Shown | null => {
    const of = byId.get(version.newest);
    return of && version.entry ? { snapshot: of, entry: version.entry } : null;
  };
  const show = (after: Version, before: Version | null) => {
    const newer = shownOf(after);
    if (newer?.entry.kind === "file") opened.value = { before: before && shownOf(before), after: newer };
  };
  const pair = present.filter((version) => ticked.value.includes(keyOf(version)));
  const toggle = (version: Version) => {
    if (version.entry?.kind !== "file") return;
    const others = ticked.value.filter((key) => key !== keyOf(version));
    ticked.value = others.length < ticked.value.length ? others : [...others, keyOf(version)].slice(-2);
  };
  return (
    <>
      <header class="page-head">
        <Crumbs app={app} way={[{ name: <bdi>{shown(snapshot.source)}</bdi>, go: () => app.route.go({ screen: "restore", snapshot, crumbs: [] }) }, { name: words.title }]} />
        <h1 class="wrap">{words.of(<bdi>{shown(entry.name)}</bdi>)}</h1>
        {entry.path !== entry.name && <p class="soft small wrap"><bdi>{shown(entry.path)}</bdi></p>}
      </header>
      {problem && <ProblemNotice problem={problem} retry={load} />}
      <div class="toolbar">
        {hasOthers ? (
          <Choice<"series" | "all"> label={words.which} value={scope.value} change={(value) => { scope.value = value; }}
            options={[{ value: "series", words: words.theseBackups }, { value: "all", words: words.allBackups }]} />
        ) : <span />}
        <button type="button" class="button" disabled={pair.length !== 2} title={words.tickTwo}
          onClick={() => { const [after, before] = pair; if (after && before) show(after, before); }}><Icon name="compare" size={18} />{pair.length === 1 ? words.tickOneMore : words.compareThem}</button>
      </div>
      <p class="list-status small soft" role="status">
        {running ? words.looking(looked, total) : problem ? "" : words.found(new Set(present.map(contentOf)).size, total)}
      </p>
      {versions.length === 0 && total > 0 && !running ? <Empty icon="file" title={words.none} />
        : versions.length === 0 && problem ? null
        : <Rows<Version> key={scope.value} label={words.title} rows={versions} rowHeight={68} look="versions" columns={4} keyOf={keyOf} isLanding
          cells={(version) => <Cells version={version} change={changeOf(version, versions, Date.now(), !running && !problem)} ticked={ticked.value.includes(keyOf(version))} device={scope.value === "all" ? byId.get(version.newest) ?? null : null} made={made} />}
          open={(version) => show(version, versionBefore(version, versions))} isSelected={(version) => ticked.value.includes(keyOf(version))} toggle={toggle} />}
      {opened.value && <Beside app={app} before={opened.value.before} after={opened.value.after} close={() => { opened.value = null; }} />}
    </>
  );
}

function Cells({ version, change, ticked, device, made }: { version: Version; change: string; ticked: boolean; device: Snapshot | null; made: (id: string) => string }) {
  const { entry, problem, count, newest, oldest, incomplete } = version;
  const icon: IconName = problem ? "warning" : !entry ? "trash" : entry.kind === "directory" ? "folder" : entry.kind === "symlink" ? "link" : "file";
  const where = words.where(entry ? "in" : problem ? "damaged" : "out", count, within(made(oldest)), within(made(newest)));
  const told = entry ? change : incomplete && !problem ? words.incomplete : "";
  return (
    <>
      <div role="gridcell" class="tick-cell" data-tick>{entry?.kind === "file" && <Tick on={ticked} />}</div>
      <div role="gridcell" class="name">
        <span class={`kind ${problem ? "lost" : entry ? "" : "gone"}`}><Icon name={icon} /></span>
        <span class="two">
          <span class="strong clip">{entry ? (entry.modified === null ? made(newest) : when(entry.modified, Date.now())) : change}</span>
          <span class="small clip narrow">{told}</span>
          <span class="small soft clip">{where}{device && <> · <bdi>{shown(device.source)}</bdi> · <bdi>{shown(device.device)}</bdi></>}</span>
        </span>
      </div>
      <div role="gridcell" class="number size soft">{entry?.kind === "file" ? size(entry.size) : ""}</div>
      <div role="gridcell" class="change small soft">{told}</div>
    </>
  );
}

function keyOf({ series, newest }: Version): string {
  return `${series} ${newest}`;
}

/** Versions that read alike are one, whichever series they are in. */
function contentOf({ content, entry }: Version): string {
  return `${content} ${entry?.modified}`;
}
