/** What differs between two snapshots. */

import { useEffect } from "preact/hooks";
import type { Change, Snapshot } from "../../../core/api";
import type { App } from "../../app";
import type { Comparing, Shown } from "../../comparing";
import { CHANGES } from "../../plain";
import { Choice } from "../../parts/choice";
import { Icon, type IconName } from "../../parts/icon";
import { Empty, ProblemNotice } from "../../parts/notice";
import { Rows } from "../../parts/rows";
import { viewOf } from "../../route";
import { count, counted, shown, size } from "../../words";

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
        <nav aria-label="Where you are" class="crumbs">
          <button type="button" class="crumb" onClick={() => app.route.go(viewOf("restore"))}>Snapshots</button>
          <Icon name="forward" size={14} />
          <span class="crumb here" aria-current="page">Compare</span>
        </nav>
        <h1>What changed</h1>
        <p class="soft"><bdi>{shown(before.source)}</bdi>, {app.whenMade.value(before, Date.now())} → {other && <><bdi>{shown(after.source)}</bdi>, </>}{app.whenMade.value(after, Date.now())}</p>
      </header>
      {problem && <ProblemNotice problem={problem} retry={load} />}
      {(loading || changes.length > 0) && <div class="toolbar">
        <Choice<Shown> label="Which changes" value={comparing.shown.value} change={(value) => { comparing.shown.value = value; }}
          options={[{ value: "all", words: <>All <small class="soft">{count(changes.length)}</small></> }, ...kinds.map((kind) => ({ value: kind, words: <>{CHANGES[kind]} <small class="soft">{count(counts[kind])}</small></> }))]} />
        <p class="small soft" role="status">{loading ? `${counted(changes.length, "difference")} so far…` : ""}</p>
      </div>}
      <Folders comparing={comparing} />
      {isSame && comparing.shown.value !== "folders"
        ? <Empty icon="check" title="Nothing differs"><p>The two snapshots hold the same files.</p></Empty>
        : <Rows<Change> key={comparing.shown.value} label="Differences" rows={comparing.rows.value} rowHeight={46} look="changes" columns={3} keyOf={(change) => `${change.kind}:${change.path}`} cells={(change) => <Cells change={change} />} />}
    </>
  );
}

/** Folders that differ in details only: how many, and a button that shows them. */
function Folders({ comparing }: { comparing: Comparing }) {
  const folders = comparing.folders.value;
  const isShown = comparing.shown.value === "folders";
  if (folders.length === 0) return null;
  const details = folders.some(({ before, after }) => before?.mode !== after?.mode) ? "times, permissions" : "times";
  return (
    <p class="small soft row firm">
      <span>{counted(folders.length, "folder")} {folders.length === 1 ? "differs" : "differ"} in details only ({details}).</span>
      <button type="button" class="button small plain" onClick={() => { comparing.shown.value = isShown ? "all" : "folders"; }}>{isShown ? "Hide them" : "Show them"}</button>
    </p>
  );
}

function Cells({ change }: { change: Change }) {
  return (
    <>
      <div role="gridcell" class={`sign ${change.kind}`}><Icon name={SIGNS[change.kind]} size={16} /><span class="unseen">{CHANGES[change.kind]}</span></div>
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
