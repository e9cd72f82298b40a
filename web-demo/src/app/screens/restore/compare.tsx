/** What differs between two snapshots. */

import { useEffect } from "preact/hooks";
import type { Change, Snapshot } from "../../../core/api";
import type { App } from "../../app";
import type { Comparing, Shown } from "../../comparing";
import { Choice } from "../../parts/choice";
import { Crumbs } from "../../parts/crumbs";
import { Icon, type IconName } from "../../parts/icon";
import { Empty, ProblemNotice } from "../../parts/notice";
import { Rows } from "../../parts/rows";
import { plain } from "../../../words/plain";
import { versions as words } from "../../../words/versions";
import { count, shown, size } from "../../words";

const SIGNS: Record<Change["kind"], IconName> = { added: "plus", removed: "close", changed: "compare", metadata: "info" };

export function Compare({ app, before, after }: { app: App; before: Snapshot; after: Snapshot }) {
  const { comparing } = app;
  const load = () => void comparing.open(before.id, after.id);
  useEffect(load, [before.id, after.id]);
  const { loading, problem } = comparing.compared.value;
  const changes = comparing.changes.value;
  const isSame = !loading && changes.length === 0 && !problem;
  const counts = comparing.counts.value;
  const kinds = (["added", "removed", "changed", "metadata"] as const).filter((kind) => counts[kind] > 0);
  const other = before.series !== after.series;
  return (
    <>
      <header class="page-head browse-head">
        <Crumbs app={app} way={[{ name: words.compare.title }]} />
        <h1>{words.compare.heading}</h1>
        <p class="soft"><bdi>{shown(before.source)}</bdi>, {app.whenMade.value(before, Date.now())} → {other && <><bdi>{shown(after.source)}</bdi>, </>}{app.whenMade.value(after, Date.now())}</p>
      </header>
      {problem && <ProblemNotice problem={problem} retry={load} />}
      {(loading || changes.length > 0) && <div class="toolbar">
        <Choice<Shown> label={words.compare.which} value={comparing.shown.value} change={(value) => { comparing.shown.value = value; }}
          options={[{ value: "all", words: <>{words.compare.all} <small class="soft">{count(changes.length)}</small></> }, ...kinds.map((kind) => ({ value: kind, words: <>{plain.changes[kind]} <small class="soft">{count(counts[kind])}</small></> }))]} />
        <p class="small soft" role="status">{loading ? words.compare.soFar(changes.length) : ""}</p>
      </div>}
      <Folders comparing={comparing} />
      {isSame && comparing.shown.value !== "folders"
        ? <Empty icon="check" title={words.compare.nothing}><p>{words.compare.nothingWhy}</p></Empty>
        : <Rows<Change> key={comparing.shown.value} label={words.compare.differences} rows={comparing.rows.value} rowHeight={46} look="changes" columns={3} keyOf={(change) => `${change.kind}:${change.path}`} cells={(change) => <Cells change={change} />} />}
    </>
  );
}

/** Folders that differ in details only: how many, and a button that shows them. */
function Folders({ comparing }: { comparing: Comparing }) {
  const folders = comparing.folders.value;
  const isShown = comparing.shown.value === "folders";
  if (folders.length === 0) return null;
  const isMode = folders.some(({ before, after }) => before?.mode !== after?.mode);
  return (
    <p class="small soft row firm">
      <span>{words.compare.detailsOnly(folders.length, isMode)}</span>
      <button type="button" class="button small plain" onClick={() => { comparing.shown.value = isShown ? "all" : "folders"; }}>{isShown ? words.compare.hide : words.compare.show}</button>
    </p>
  );
}

function Cells({ change }: { change: Change }) {
  return (
    <>
      <div role="gridcell" class={`sign ${change.kind}`}><Icon name={SIGNS[change.kind]} size={16} /><span class="unseen">{plain.changes[change.kind]}</span></div>
      <div role="gridcell" class="clip path"><bdi>{shown(change.path)}{(change.after ?? change.before)?.kind === "directory" ? "/" : ""}</bdi></div>
      <div role="gridcell" class="number soft">{sizes(change).before && <span class="before">{sizes(change).before} → </span>}{sizes(change).after}</div>
    </>
  );
}

/** The size, and the one before where it is another. */
function sizes(change: Change): { before: string; after: string } {
  const before = change.before?.kind === "file" ? size(change.before.size) : "";
  const after = change.after?.kind === "file" ? size(change.after.size) : "";
  if (after === "") return { before: "", after: before };
  return { before: before === after ? "" : before, after };
}
