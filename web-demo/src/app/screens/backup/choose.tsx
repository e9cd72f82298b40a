/** Choosing what to back up: a folder of before with one click, a folder picked, or anything dropped on the page. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { RememberedFolder, UnfinishedBackup } from "../../../core/api";
import type { App } from "../../app";
import type { Backing } from "../../backing";
import { Icon } from "../../parts/icon";
import { ProblemNotice } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { ago, shown, size } from "../../words";
import { backup as words } from "../../../words/backup";
import { plain } from "../../../words/plain";
import { shell } from "../../../words/shell";
import { Hidden } from "./hidden";

export function Choose({ app, state }: { app: App; state: Extract<Backing, { at: "choosing" }> }) {
  const stage = app.staging.stage.value;
  const canPick = stage.at === "open" && stage.environment.canPickFolder;
  const canInput = stage.at === "open" && stage.environment.canInputFolder;
  const folders = useRef<HTMLInputElement>(null);
  const files = useRef<HTMLInputElement>(null);
  /** The unfinished backup that the folder is chosen for. */
  const goingOn = useRef<UnfinishedBackup | null>(null);
  const { backing, core } = app;

  const pick = () => {
    if (canPick) void backing.take(core.pickFolder(), goingOn.current);
    else folders.current?.click();
  };
  const chosen = (input: HTMLInputElement) => {
    const list = input.files;
    if (list && list.length > 0) void backing.take(core.folderFromInput(list), goingOn.current);
  };

  return (
    <div class="page stack wide">
      <header class="page-head">
        <h1>{shell.screens.backup}</h1>
        <p class="soft">{words.choose.lead}</p>
      </header>
      {state.problem && <ProblemNotice problem={state.problem} />}
      <Unfinished app={app} busy={state.opening} choose={(one) => { goingOn.current = one; pick(); }} />
      <Remembered app={app} busy={state.opening} />
      <div class="drop card">
        <Icon name="folder" size={40} />
        <div class="row center-row">
          <button type="button" class="button main large" disabled={state.opening || (!canPick && !canInput)} onClick={() => { goingOn.current = null; pick(); }}>
            {state.opening ? <Spinner label={words.choose.opening} /> : words.choose.folder}
          </button>
          <button type="button" class="button large" disabled={state.opening} onClick={() => files.current?.click()}>{words.choose.files}</button>
        </div>
        <p class="soft">{words.choose.drop}</p>
        <input ref={folders} class="unseen" type="file" multiple {...{ webkitdirectory: true }} tabIndex={-1} aria-label={words.choose.folderInput} data-testid="folder-input"
          onChange={(event) => chosen(event.currentTarget)} />
        <input ref={files} class="unseen" type="file" multiple tabIndex={-1} aria-label={words.choose.filesInput} data-testid="files-input"
          onChange={(event) => chosen(event.currentTarget)} />
      </div>
      {!canPick && <p class="faint small">{words.choose.asList}</p>}
      {canPick && (
        <details>
          <summary><Icon name="forward" size={16} />{words.choose.hidden}</summary>
          <div class="inside stack tight"><Hidden app={app} busy={state.opening} /></div>
        </details>
      )}
    </div>
  );
}

/** Backups that did not come to their end. */
function Unfinished({ app, busy, choose }: { app: App; busy: boolean; choose: (one: UnfinishedBackup) => void }) {
  const backups = app.backing.unfinished.value;
  if (backups.length === 0) return null;
  return (
    <section class="stack tight" aria-labelledby="unfinished">
      <h2 id="unfinished">{words.unfinished.title}</h2>
      <ul class="card list">
        {backups.map((one) => (
          <li key={one.id} class="folder">
            <span class="folder-icon"><Icon name="clock" /></span>
            <div class="grow">
              <p class="strong clip"><bdi>{shown(one.label)}</bdi></p>
              <p class="small soft">{ago(one.time, Date.now())} · {one.safeBytes > 0 ? words.unfinished.isSafe(size(one.safeBytes)) : words.unfinished.nothingSafe}</p>
            </div>
            <div class="row firm">
              <button type="button" class="button plain icon small" aria-label={words.unfinished.dismiss(one.label)} title={words.unfinished.dismissTitle} onClick={() => void app.backing.forgetUnfinished(one.id)}>
                <Icon name="close" size={16} />
              </button>
              <button type="button" class="button main small" disabled={busy} onClick={() => (one.folder === null ? choose(one) : void app.backing.startRemembered({ ...one, id: one.folder }))}>
                {one.folder === null ? words.unfinished.chooseAgain : words.goOn}<span class="unseen"> {one.label}</span>
              </button>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Remembered({ app, busy }: { app: App; busy: boolean }) {
  const unfinished = new Set(app.backing.unfinished.value.map(({ folder }) => folder));
  const folders = (app.backing.remembered.value ?? []).filter(({ id }) => !unfinished.has(id));
  if (folders.length === 0) return null;
  return (
    <section class="stack tight" aria-labelledby="remembered">
      <h2 id="remembered">{words.remembered.title}</h2>
      <ul class="card list">
        {folders.map((folder) => <Folder key={folder.id} app={app} folder={folder} busy={busy} />)}
      </ul>
    </section>
  );
}

function Folder({ app, folder, busy }: { app: App; folder: RememberedFolder; busy: boolean }) {
  const asking = useSignal(false);
  const facts = [
    folder.lastBackup === null ? words.remembered.neverFinished : words.remembered.last(ago(folder.lastBackup, Date.now())),
    folder.files === null ? null : plain.files(folder.files),
    folder.bytes === null ? null : size(folder.bytes),
  ].filter((fact) => fact !== null);
  return (
    <li class="folder">
      <span class="folder-icon"><Icon name="folder" /></span>
      <div class="grow">
        <p class="strong clip"><bdi>{shown(folder.label)}</bdi></p>
        <p class="small soft">{facts.join(" · ")}</p>
        <label class="tick small">
          <input type="checkbox" checked={folder.automatic} onChange={(event) => void app.backing.setAutomatic(folder.id, event.currentTarget.checked)} />
          <span>{words.remembered.automatic(<span class="unseen">: {folder.label}</span>, folder.automatic && folder.permission === "ask")}</span>
        </label>
      </div>
      {asking.value ? (
        <div class="row firm">
          <button type="button" class="button small bad" onClick={() => void app.backing.forgetRemembered(folder.id)}>{words.remembered.forgetIt}</button>
          <button type="button" class="button small" onClick={() => { asking.value = false; }}>{words.remembered.keep}</button>
        </div>
      ) : (
        <div class="row firm">
          <button type="button" class="button plain icon small" aria-label={words.remembered.forget(folder.label)} title={words.remembered.forgetTitle} onClick={() => { asking.value = true; }}>
            <Icon name="close" size={16} />
          </button>
          <button type="button" class="button main small" disabled={busy} onClick={() => void app.backing.startRemembered(folder)}>{words.remembered.now}<span class="unseen"> {folder.label}</span></button>
        </div>
      )}
    </li>
  );
}
