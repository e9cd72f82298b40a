/** Looking into a snapshot: its folders, search, preview, and taking out what one wants. */

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Entry, EntryId, Measure, Snapshot } from "../../../core/api";
import { plain } from "../../../words/plain";
import { browse as words } from "../../../words/browse";
import { parts } from "../../../words/parts";
import type { App } from "../../app";
import type { SortBy } from "../../listing";
import { Choice } from "../../parts/choice";
import { Crumbs } from "../../parts/crumbs";
import { Icon, type IconName } from "../../parts/icon";
import { Empty, Notice, ProblemNotice } from "../../parts/notice";
import { Rows } from "../../parts/rows";
import { Tile } from "../../parts/thumb";
import { unseen } from "../../parts/unseen";
import { troubleWords } from "../../plain";
import type { Crumb } from "../../route";
import { shown, size, stamp, within } from "../../words";
import { Preview } from "./preview";
import { Receipt, Tick } from "./snapshots";
import { Take } from "./take";
import { VersionsButton } from "./versions-button";

export function Browse({ app, snapshot, crumbs, at }: { app: App; snapshot: Snapshot; crumbs: Crumb[]; at: EntryId | null }) {
  const { listing, finding } = app;
  const here: EntryId = crumbs[crumbs.length - 1]?.id ?? "";
  const way = [snapshot.source, ...crumbs.map(({ name }) => name)];
  const hereName = crumbs[crumbs.length - 1]?.name ?? snapshot.source;
  const from = useCameFrom(crumbs) ?? at;
  const previewed = useSignal<Entry | null>(null);
  const search = useRef<HTMLInputElement>(null);
  const pause = useRef<ReturnType<typeof setTimeout>>(undefined);
  // Before anything is shown: what is typed as soon as the folder is seen must stay.
  useLayoutEffect(() => {
    finding.stop();
    if (search.current) search.current.value = "";
    void listing.open(snapshot.id, here);
    return () => {
      clearTimeout(pause.current);
      finding.stop();
    };
  }, [listing, finding, snapshot.id, here]);

  const found = finding.found.value;
  const listed = listing.listed.value;
  const rows = found ? found.hits : listing.rows.value;
  const selected = useComputed(() => rowsSelected(listing.selected.value, found ? found.hits : listing.listed.value.entries));

  const go = (to: Crumb[]) => app.route.go({ screen: "restore", snapshot, crumbs: to });
  const open = (entry: Entry) => {
    if (entry.kind === "directory") go(found ? [{ id: entry.id, name: entry.path }] : [...crumbs, { id: entry.id, name: entry.name }]);
    else if (entry.kind === "file") previewed.value = entry;
  };
  const typed = (text: string) => {
    listing.clear();
    void finding.find(snapshot.id, here, text);
  };

  const isGallery = app.settings.value?.folders === "gallery";
  const acts = {
    keyOf: (entry: Entry) => entry.id, open, isSelected: (entry: Entry) => listing.selected.value.has(entry.id), toggle: (entry: Entry) => listing.toggle(entry.id),
    ...(found ? {} : { toggleAll: () => listing.toggleAll() }), isLanding: true, beginAt: found ? null : from,
    up: () => { if (crumbs.length > 0) go(crumbs.slice(0, -1)); },
  };

  // Of what cannot be read at all there is nothing to list.
  const isUnread = found === null && listed.problem !== null && listed.entries.length === 0;
  return (
    <>
      <header class="page-head browse-head">
        <Crumbs app={app} way={way.map((name, i) => ({ name: <bdi>{shown(name)}</bdi>, ...(i < crumbs.length ? { go: () => go(crumbs.slice(0, i)) } : {}) }))} />
        <h1 class="wrap"><bdi>{shown(hereName)}</bdi></h1>
        <p class="soft small row tight-row">
          <span>{words.asItWas(within(app.whenMade.value(snapshot, Date.now())), <bdi>{shown(snapshot.device)}</bdi>, snapshot.fromBrowser, snapshot.files, size(snapshot.bytes))}</span>
          <Receipt snapshot={snapshot} />
        </p>
      </header>
      {crumbs.length === 0 && <Lacks snapshot={snapshot} />}
      <div class="toolbar">
        <div class="with-icon grow search">
          <Icon name="search" size={18} />
          <input ref={search} class="input" type="search" placeholder={words.search} aria-label={words.search} spellcheck={false} autocomplete="off"
            onInput={() => {
              // A search begins when the typing pauses.
              clearTimeout(pause.current);
              pause.current = setTimeout(() => typed(search.current?.value ?? ""), 180);
            }} />
        </div>
        <Take app={app} snapshot={snapshot} here={here} hereName={hereName} selected={selected.value}>
          {selected.value.length === 1 && selected.value[0]?.kind === "file" && <VersionsButton app={app} snapshot={snapshot} entry={selected.value[0]} />}
        </Take>
      </div>
      {(found?.problem ?? listed.problem) && (
        <ProblemNotice problem={(found?.problem ?? listed.problem)!} retry={() => (found ? typed(found.text) : void listing.open(snapshot.id, here))} />
      )}
      <div class="row ends firm">
      <p class="list-status small soft" role="status">
        {isUnread ? "" : found ? words.found(found.hits.length, found.running, found.more)
          : listed.loading && listed.entries.length === 0 ? words.reading
          : words.listed(listed.total ?? listed.entries.length, listed.loading ? listed.entries.length : null, selected.value.length)}
        {selected.value.length > 0 && <Measured app={app} snapshot={snapshot} entries={selected.value} />}
      </p>
      <View app={app} isGallery={isGallery} sortable={!found} />
      </div>
      {isUnread ? null : rows.length === 0 && !listed.loading && !found?.running && !listed.problem ? (
        found ? <Empty icon="search" title={words.nothingFound.title}><p>{words.nothingFound.why}</p></Empty>
          : <Empty icon="folder" title={words.isEmpty} />
      ) : isGallery ? (
        <Rows<Entry> key={`${here}:${found ? "found" : ""}:gallery`} label={found ? words.namesFound : words.kinds.directory} rows={rows} rowHeight={206} tile={156} look="gallery" columns={1} {...acts}
          cells={(entry) => <><span class="tile-tick" data-tick><Tick on={listing.selected.value.has(entry.id)} /></span><Tile thumbs={app.thumbs} snapshot={snapshot.id} entry={entry} icon={KINDS[entry.kind].icon} kind={KINDS[entry.kind].words} /></>} />
      ) : (
        <Rows<Entry> key={`${here}:${found ? "found" : ""}`} label={found ? words.namesFound : words.kinds.directory} rows={rows} rowHeight={found ? 56 : 46} look={found ? "entries found" : "entries"} columns={4}
          head={<Head app={app} sortable={!found} all={rows.length > 0 && listing.selected.value.size === rows.length} />}
          {...acts} cells={(entry) => <Cells entry={entry} ticked={listing.selected.value.has(entry.id)} found={found !== null} />} />
      )}
      {previewed.value && <Preview app={app} snapshot={snapshot} entry={previewed.value} among={rows} show={(entry) => { previewed.value = entry; }} close={() => { previewed.value = null; }} />}
    </>
  );
}

/** As a list or a gallery; and in what order, where no head of a list offers it. */
function View({ app, isGallery, sortable }: { app: App; isGallery: boolean; sortable: boolean }) {
  const { by } = app.listing.order.value;
  return (
    <div class="row firm">
      {isGallery && sortable && (
        <select class="input narrow low" aria-label={words.order} value={by} onChange={(event) => app.listing.sortBy(event.currentTarget.value as SortBy)}>
          {(["name", "modified", "size"] as const).map((order) => <option key={order} value={order}>{words.orders[order]}</option>)}
        </select>
      )}
      <Choice<"list" | "gallery"> label={words.showAs} value={isGallery ? "gallery" : "list"} change={(folders) => void app.changeSettings({ folders })} options={[
        { value: "list", words: <><Icon name="list" size={16} />{unseen(words.list)}</> },
        { value: "gallery", words: <><Icon name="gallery" size={16} />{unseen(words.gallery)}</> },
      ]} />
    </div>
  );
}

/** On the way up: the folder that one came from. */
function useCameFrom(crumbs: Crumb[]): EntryId | null {
  const now = useRef({ crumbs, from: null as EntryId | null });
  const before = now.current.crumbs;
  if (before !== crumbs) now.current = { crumbs, from: crumbs.every(({ id }, at) => before[at]?.id === id) ? before[crumbs.length]?.id ?? null : null };
  return now.current.from;
}

/** What is selected holds in all: folders are counted to their ground, which takes a moment. */
function Measured({ app, snapshot, entries }: { app: App; snapshot: Snapshot; entries: readonly Entry[] }) {
  const [measure, setMeasure] = useState<Measure | null>(null);
  useEffect(() => {
    setMeasure(null);
    let current = true;
    const timer = setTimeout(() => {
      // Only a convenience: without it the download tells.
      app.core.measure(snapshot.id, entries.map((entry) => entry.id)).then((answer) => { if (current) setMeasure(answer); }, () => undefined);
    }, 250);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [app, snapshot.id, entries]);
  return measure === null ? null : <>{words.measured(measure.files, size(measure.bytes), measure.damage.length > 0)}</>;
}

/** What is not in it, or not as it was at one moment. */
function Lacks({ snapshot: { troubles } }: { snapshot: Snapshot }) {
  const all = troubles.unreadable + troubles.changing;
  if (all === 0) return null;
  const more = all - troubles.names.length;
  return (
    <Notice tone="warn" title={troubleWords(troubles)}>
      {troubles.names.length > 0 && (
        <details>
          <summary><Icon name="forward" size={16} />{parts.which}</summary>
          <ul class="inside stack tight named" tabIndex={0} aria-label={words.lacks.list}>
            {troubles.names.map(({ path, why }, at) => <li key={at}><span class="code"><bdi>{shown(path)}</bdi></span> <span class="small soft">{plain.leftOut[why]}</span></li>)}
            {more > 0 && <li class="small soft">{parts.others(more)}</li>}
          </ul>
        </details>
      )}
    </Notice>
  );
}

function Head({ app, sortable, all }: { app: App; sortable: boolean; all: boolean }) {
  const { listing } = app;
  const order = listing.order.value;
  const column = (by: SortBy, classes: string) => (
    <div role="columnheader" class={classes} aria-sort={sortable && order.by === by ? (order.down ? "descending" : "ascending") : undefined}>
      {sortable
        ? <button type="button" class="sort" onClick={() => listing.sortBy(by)}>{words.columns[by]}{order.by === by && <Icon name={order.down ? "down" : "up"} size={14} />}</button>
        : words.columns[by]}
    </div>
  );
  return (
    <>
      <div role="columnheader" class="tick-cell">
        {sortable ? <button type="button" class="tick-all" aria-pressed={all} aria-label={words.selectAll} onClick={() => listing.toggleAll()}><Tick on={all} /></button> : unseen(words.selected)}
      </div>
      {column("name", "")}
      {column("size", "number size")}
      {column("modified", "modified")}
    </>
  );
}

export const KINDS: Record<Entry["kind"], { icon: IconName; readonly words: string }> = {
  directory: { icon: "folder", get words() { return words.kinds.directory; } },
  file: { icon: "file", get words() { return words.kinds.file; } },
  symlink: { icon: "link", get words() { return words.kinds.symlink; } },
  other: { icon: "special", get words() { return words.kinds.other; } },
};

function Cells({ entry, ticked, found }: { entry: Entry; ticked: boolean; found: boolean }) {
  const kind = KINDS[entry.kind];
  const where = entry.path.slice(0, Math.max(0, entry.path.length - entry.name.length - 1));
  return (
    <>
      <div role="gridcell" class="tick-cell" data-tick><Tick on={ticked} /></div>
      <div role="gridcell" class="name">
        <span class={`kind ${entry.kind}`}><Icon name={kind.icon} />{unseen(`${kind.words} `)}</span>
        <span class="two">
          <span class="clip"><bdi>{shown(entry.name)}</bdi>{entry.target !== null && <span class="faint"> → <bdi>{shown(entry.target)}</bdi></span>}</span>
          {found && <span class="small faint clip"><bdi>{where === "" ? words.atTheTop : shown(where)}</bdi></span>}
        </span>
      </div>
      <div role="gridcell" class="number size soft">{entry.kind === "file" ? size(entry.size) : ""}</div>
      <div role="gridcell" class="modified soft">{entry.modified === null ? "" : stamp(entry.modified)}</div>
    </>
  );
}

function rowsSelected(ids: ReadonlySet<EntryId>, entries: readonly Entry[]): Entry[] {
  return ids.size === 0 ? [] : entries.filter((entry) => ids.has(entry.id));
}
