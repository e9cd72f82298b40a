/** Ready: a folder is chosen; what it is called, what stays out, and what this way of choosing cannot see. */

import { useEffect, useId } from "preact/hooks";
import type { Session } from "../../../core/api";
import type { App } from "../../app";
import { patterns, toggled, type Backing } from "../../backing";
import { blindness } from "../../plain";
import { Field } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { Notice } from "../../parts/notice";
import { shown, size } from "../../words";
import { backup } from "../../../words/backup";
import { parts } from "../../../words/parts";
import { plain } from "../../../words/plain";
import { shell } from "../../../words/shell";
import { Hidden } from "./hidden";

/** What many people do not want to keep. */
const USUAL = ["node_modules/", ".git/", "target/", "*.tmp", ".DS_Store", "Thumbs.db"];

export function Ready({ app, state, session }: { app: App; state: Extract<Backing, { at: "ready" }>; session: Session }) {
  const words = backup.ready;
  const { folder } = state;
  const name = useId();
  const lines = patterns(state.excludes);
  const hides = folder.blindTo.includes("odd-names");
  const begin = (event: Event) => {
    event.preventDefault();
    void app.backing.startReady();
  };
  return (
    <form class="page stack wide" onSubmit={begin}>
      <header class="page-head">
        <h1>{shell.screens.backup}</h1>
      </header>
      <div class="card">
        <div class="chosen">
          <span class="folder-icon"><Icon name="folder" size={24} /></span>
          <div class="grow">
            <p class="strong wrap"><bdi>{shown(folder.name)}</bdi></p>
            <p class="small soft">{folder.files === null ? words.countedLater : `${plain.files(folder.files)}${folder.bytes === null ? "" : `, ${size(folder.bytes)}`}`}</p>
          </div>
          <button type="button" class="button small" onClick={() => app.backing.choose()}>{words.change}</button>
        </div>
        <div class="inside-card stack">
          <Field label={words.name} hint={<>{words.nameHint}{folder.isFiles && ` ${words.nameOfFiles}`}</>} maxLength={200} value={state.label} onInput={(event) => app.backing.edit({ label: event.currentTarget.value })} />
          {session.client === null && <DeviceName app={app} />}
          <details>
            <summary><Icon name="forward" size={16} />{words.leaveOut}{lines.length > 0 && <span class="badge">{words.patterns(lines.length)}</span>}</summary>
            <div class="inside stack tight">
              <div class="row" role="group" aria-label={words.usual}>
                {USUAL.map((pattern) => (
                  <button key={pattern} type="button" class="button small code" aria-pressed={lines.includes(pattern)}
                    onClick={() => app.backing.edit({ excludes: toggled(state.excludes, pattern) })}>{pattern}</button>
                ))}
              </div>
              <div class="field">
                <label class="unseen" for={`${name}-excludes`}>{words.excludes}</label>
                <textarea id={`${name}-excludes`} class="input" rows={4} spellcheck={false} value={state.excludes} placeholder={words.excludesExample}
                  aria-describedby={`${name}-patterns`} onInput={(event) => app.backing.edit({ excludes: event.currentTarget.value })} />
                <p class="hint" id={`${name}-patterns`}>{words.excludesHint((text) => <code>{text}</code>)}</p>
              </div>
            </div>
          </details>
          {folder.canRemember && (
            <label class="tick">
              <input type="checkbox" checked={state.remember} onChange={(event) => app.backing.edit({ remember: event.currentTarget.checked })} />
              <span>{words.remember}</span>
            </label>
          )}
        </div>
      </div>
      {folder.blindTo.length > 0 && (
        <Notice tone={hides ? "warn" : "calm"} title={words.lacks(blindness(folder.blindTo))}>
          <p class="soft">{words.notShown(<code>copal</code>)}</p>
          {folder.blindTo.includes("names-not-text") && <p class="small soft">{words.namesNotText}</p>}
          {hides && <Hidden app={app} busy={false} />}
        </Notice>
      )}
      <div class="row">
        <button type="submit" class="button main large">{words.start}</button>
        <button type="button" class="button large plain" onClick={() => app.backing.choose()}>{parts.cancel}</button>
      </div>
    </form>
  );
}

/** Asked once, with the first backup: devices and their backups are told apart by it. */
function DeviceName({ app }: { app: App }) {
  const stage = app.staging.stage.value;
  const suggested = stage.at === "open" ? stage.environment.suggestedName : "";
  useEffect(() => app.backing.edit({ device: suggested }), []);
  return <Field label={parts.nameOfThisDevice} hint={backup.ready.deviceHint} required maxLength={80} defaultValue={suggested} onInput={(event) => app.backing.edit({ device: event.currentTarget.value })} />;
}
