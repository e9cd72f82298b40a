/** Two versions of a file side by side: the lines of texts that differ, or both pictures. Everything shown was verified. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Entry, Preview as Previewed, Snapshot } from "../../../core/api";
import type { App } from "../../app";
import { ask, type Asked as State } from "../../asked";
import { sideBySide, type DifferenceRow, type Line } from "../../difference";
import { Asked } from "../../parts/asked";
import { Dialog } from "../../parts/dialog";
import { Empty } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { parts } from "../../../words/parts";
import { preview } from "../../../words/preview";
import { versions as words } from "../../../words/versions";
import { shown, size, moment } from "../../words";
import { Content } from "./preview";
import { Take } from "./take";

/** An entry as one snapshot has it. */
export interface Shown {
  snapshot: Snapshot;
  entry: Entry;
}

export function Beside({ app, before, after, close }: { app: App; before: Shown | null; after: Shown; close: () => void }) {
  const asked = useSignal<State<[Previewed | null, Previewed]>>({ at: "asking" });
  const one = ({ snapshot, entry }: Shown) => app.core.preview(snapshot.id, entry.id, PREVIEW_MAX);
  const load = () => {
    asked.value = { at: "asking" };
    const both = async (): Promise<[Previewed | null, Previewed]> => [before?.entry.kind === "file" ? await one(before) : null, await one(after)];
    void ask(both(), (answer) => { asked.value = answer; });
  };
  useEffect(load, [before, after]);
  return (
    <Dialog title={shown(after.entry.name)} close={close} wide footer={<>
      <button type="button" class="button" onClick={close}>{parts.close}</button>
      <Take app={app} snapshot={after.snapshot} here="" hereName="" selected={[after.entry]} />
    </>}>
      <Asked asked={asked.value} waiting={<div class="preview-wait"><Spinner label={preview.fetching} /></div>} retry={load}>
        {(previews) => <Both app={app} before={before} after={after} previews={previews} />}
      </Asked>
    </Dialog>
  );
}

function Both({ app, before, after, previews: [older, newer] }: { app: App; before: Shown | null; after: Shown; previews: [Previewed | null, Previewed] }) {
  if (!before || !older) return <div class="preview"><Facts of={after} title={words.beside.after} /><Content app={app} {...after} preview={newer} /></div>;
  if (isText(older) && isText(newer)) return <Lines before={before} after={after} older={older} newer={newer} />;
  return (
    <div class="beside">
      <section class="preview" aria-label={words.beside.before}><Facts of={before} title={words.beside.before} /><Content app={app} {...before} preview={older} /></section>
      <section class="preview" aria-label={words.beside.after}><Facts of={after} title={words.beside.after} /><Content app={app} {...after} preview={newer} /></section>
    </div>
  );
}

function Facts({ of: { entry }, title }: { of: Shown; title: string }) {
  return <p class="small soft"><span class="strong">{title}</span> · {size(entry.size)}{entry.modified === null ? "" : ` · ${words.beside.changed(moment(entry.modified))}`}</p>;
}

function Lines({ before, after, older, newer }: { before: Shown; after: Shown; older: Previewed; newer: Previewed }) {
  const all = useSignal(false);
  const rows = useMemo(() => sideBySide(textOf(older), textOf(newer), all.value ? null : AROUND), [older, newer, all.value]);
  const skipped = rows.reduce((sum, row) => sum + (row.kind === "skipped" ? row.lines : 0), 0);
  const changes = (side: "before" | "after") => rows.filter((row) => row.kind === "changed" && row[side] !== null).length;
  const isPart = [older, newer].some((one) => one.total > TEXT_MAX);
  if (skipped > 0 && rows.length === 1) return <Empty icon="check" title={words.beside.same}><p>{words.beside.sameWhy}</p></Empty>;
  const [removed, added] = [changes("before"), changes("after")];
  return (
    <>
      <p class="small soft row firm">
        <span>{isPart ? words.beside.linesInFirst(removed, added, size(TEXT_MAX)) : words.beside.lines(removed, added)}</span>
        {(skipped > 0 || all.value) && <button type="button" class="button small plain" onClick={() => { all.value = !all.value; }}>{all.value ? words.beside.onlyChanges : words.beside.allLines}</button>}
      </p>
      <div class="difference" tabIndex={0} role="region" aria-label={words.beside.differs}>
        <table>
          <thead><tr><th scope="col"><Facts of={before} title={words.beside.before} /></th><th scope="col"><Facts of={after} title={words.beside.after} /></th></tr></thead>
          <tbody>{rows.slice(0, ROWS_MAX).map((row, at) => <Row key={at} row={row} />)}</tbody>
        </table>
        {rows.length > ROWS_MAX && <p class="rows-end soft small">{words.beside.more(rows.length - ROWS_MAX)}</p>}
      </div>
    </>
  );
}

function Row({ row }: { row: DifferenceRow }) {
  if (row.kind === "skipped") return <tr class="skipped"><td colSpan={2}>{words.beside.skipped(row.lines)}</td></tr>;
  return (
    <tr class={row.kind}>
      <td class={row.kind === "changed" && row.before ? "removed" : ""}>{row.before && <Written line={row.before} sign={row.kind === "changed" ? "−" : ""} says={words.beside.removed} />}</td>
      <td class={row.kind === "changed" && row.after ? "added" : ""}>{row.after && <Written line={row.after} sign={row.kind === "changed" ? "+" : ""} says={words.beside.added} />}</td>
    </tr>
  );
}

function Written({ line, sign, says }: { line: Line; sign: string; says: string }) {
  return (
    <span class="written">
      <span class="at">{line.number}</span>
      <span class="sign-of" aria-hidden="true">{sign}</span>
      {sign !== "" && <span class="unseen">{says}</span>}
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
