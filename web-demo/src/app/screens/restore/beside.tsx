/** Two versions of a file side by side: the lines of texts that differ, or both pictures. Everything shown was verified. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Entry, Preview as Previewed, Snapshot } from "../../../core/api";
import type { App } from "../../app";
import { ask, type Asked } from "../../asked";
import { sideBySide, type DifferenceRow, type Line } from "../../difference";
import { Dialog } from "../../parts/dialog";
import { Empty, ProblemNotice } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { count, counted, shown, size, stamp } from "../../words";
import { Content } from "./preview";
import { Take } from "./take";

/** An entry as one snapshot has it. */
export interface Shown {
  snapshot: Snapshot;
  entry: Entry;
}

export function Beside({ app, before, after, close }: { app: App; before: Shown | null; after: Shown; close: () => void }) {
  const asked = useSignal<Asked<[Previewed | null, Previewed]>>({ at: "asking" });
  const one = ({ snapshot, entry }: Shown) => app.core.preview(snapshot.id, entry.id, PREVIEW_MAX);
  const load = () => {
    asked.value = { at: "asking" };
    const both = async (): Promise<[Previewed | null, Previewed]> => [before?.entry.kind === "file" ? await one(before) : null, await one(after)];
    void ask(both(), (answer) => { asked.value = answer; });
  };
  useEffect(load, [before, after]);
  return (
    <Dialog title={shown(after.entry.name)} close={close} wide footer={<>
      <button type="button" class="button" onClick={close}>Close</button>
      <Take app={app} snapshot={after.snapshot} here="" hereName="" selected={[after.entry]} />
    </>}>
      {asked.value.at === "asking" && <div class="preview-wait"><Spinner label="Fetching and verifying…" /></div>}
      {asked.value.at === "failed" && <ProblemNotice problem={asked.value.problem} retry={load} />}
      {asked.value.at === "here" && <Both app={app} before={before} after={after} previews={asked.value.value} />}
    </Dialog>
  );
}

function Both({ app, before, after, previews: [older, newer] }: { app: App; before: Shown | null; after: Shown; previews: [Previewed | null, Previewed] }) {
  if (!before || !older) return <div class="preview"><Facts of={after} words="This version" /><Content app={app} {...after} preview={newer} /></div>;
  if (isText(older) && isText(newer)) return <Lines before={before} after={after} older={older} newer={newer} />;
  return (
    <div class="beside">
      <section class="preview" aria-label="Before"><Facts of={before} words="Before" /><Content app={app} {...before} preview={older} /></section>
      <section class="preview" aria-label="This version"><Facts of={after} words="This version" /><Content app={app} {...after} preview={newer} /></section>
    </div>
  );
}

function Facts({ of: { entry }, words }: { of: Shown; words: string }) {
  return <p class="small soft"><span class="strong">{words}</span> · {size(entry.size)}{entry.modified === null ? "" : ` · changed ${stamp(entry.modified)}`}</p>;
}

function Lines({ before, after, older, newer }: { before: Shown; after: Shown; older: Previewed; newer: Previewed }) {
  const all = useSignal(false);
  const rows = useMemo(() => sideBySide(textOf(older), textOf(newer), all.value ? null : AROUND), [older, newer, all.value]);
  const skipped = rows.reduce((sum, row) => sum + (row.kind === "skipped" ? row.lines : 0), 0);
  const changes = (side: "before" | "after") => rows.filter((row) => row.kind === "changed" && row[side] !== null).length;
  const isPart = [older, newer].some((one) => one.total > TEXT_MAX);
  if (skipped > 0 && rows.length === 1) return <Empty icon="check" title="The same content"><p>Only the time of the file is another.</p></Empty>;
  return (
    <>
      <p class="small soft row firm">
        <span>{counted(changes("before"), "line")} removed, {counted(changes("after"), "line")} added{isPart ? `, in the first ${size(TEXT_MAX)}` : ""}</span>
        {(skipped > 0 || all.value) && <button type="button" class="button small plain" onClick={() => { all.value = !all.value; }}>{all.value ? "Show the changes only" : "Show all lines"}</button>}
      </p>
      <div class="difference" tabIndex={0} role="region" aria-label="What differs">
        <table>
          <thead><tr><th scope="col"><Facts of={before} words="Before" /></th><th scope="col"><Facts of={after} words="This version" /></th></tr></thead>
          <tbody>{rows.slice(0, ROWS_MAX).map((row, at) => <Row key={at} row={row} />)}</tbody>
        </table>
        {rows.length > ROWS_MAX && <p class="rows-end soft small">{count(rows.length - ROWS_MAX)} lines more: download both versions to compare them.</p>}
      </div>
    </>
  );
}

function Row({ row }: { row: DifferenceRow }) {
  if (row.kind === "skipped") return <tr class="skipped"><td colSpan={2}>{counted(row.lines, "line")} the same</td></tr>;
  return (
    <tr class={row.kind}>
      <td class={row.kind === "changed" && row.before ? "removed" : ""}>{row.before && <Written line={row.before} sign={row.kind === "changed" ? "−" : ""} words="Removed" />}</td>
      <td class={row.kind === "changed" && row.after ? "added" : ""}>{row.after && <Written line={row.after} sign={row.kind === "changed" ? "+" : ""} words="Added" />}</td>
    </tr>
  );
}

function Written({ line, sign, words }: { line: Line; sign: string; words: string }) {
  return (
    <span class="written">
      <span class="at">{line.number}</span>
      <span class="sign-of" aria-hidden="true">{sign}</span>
      {sign !== "" && <span class="unseen">{words}: </span>}
      <span class="words">{line.text}</span>
    </span>
  );
}

function isText(preview: Previewed): boolean {
  return preview.kind === "text" || preview.total === 0;
}

function textOf(preview: Previewed): string {
  return new TextDecoder().decode(preview.bytes.subarray(0, TEXT_MAX));
}

const PREVIEW_MAX = 16 * 1024 * 1024;
const TEXT_MAX = 256 * 1024;
/** Lines that are the same, above and below each change. */
const AROUND = 3;
const ROWS_MAX = 3_000;
