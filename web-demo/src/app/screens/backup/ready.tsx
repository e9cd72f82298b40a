/** Ready: a folder is chosen; what it is called, what stays out, and what this way of choosing cannot see. */

import { useEffect, useId } from "preact/hooks";
import type { Session } from "../../../core/api";
import type { App } from "../../app";
import { patterns, toggled, type Backing } from "../../backing";
import { blindness } from "../../plain";
import { Icon } from "../../parts/icon";
import { Notice } from "../../parts/notice";
import { counted, shown, size } from "../../words";
import { Hidden } from "./hidden";

/** What many people do not want to keep. */
const USUAL = ["node_modules/", ".git/", "target/", "*.tmp", ".DS_Store", "Thumbs.db"];

export function Ready({ app, state, session }: { app: App; state: Extract<Backing, { at: "ready" }>; session: Session }) {
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
        <h1>Back up</h1>
      </header>
      <div class="card">
        <div class="chosen">
          <span class="folder-icon"><Icon name="folder" size={24} /></span>
          <div class="grow">
            <p class="strong wrap"><bdi>{shown(folder.name)}</bdi></p>
            <p class="small soft">{folder.files === null ? "Its files are counted while it is read" : `${counted(folder.files, "file")}${folder.bytes === null ? "" : `, ${size(folder.bytes)}`}`}</p>
          </div>
          <button type="button" class="button small" onClick={() => app.backing.choose()}>Change</button>
        </div>
        <div class="inside-card stack">
          <div class="field">
            <label for={`${name}-label`}>Name of the backup</label>
            <input id={`${name}-label`} class="input" type="text" maxLength={200} value={state.label} autocomplete="off" aria-describedby={`${name}-hint`}
              onInput={(event) => app.backing.edit({ label: event.currentTarget.value })} />
            <p class="hint" id={`${name}-hint`}>Backups of one name belong together: each is compared with the one before.{folder.isFiles && " Each holds only the files that are chosen for it. If old backups are forgotten by a rule, so are files in them that you do not choose again: a name of its own keeps them apart."}</p>
          </div>
          {session.client === null && <DeviceName app={app} id={`${name}-device`} />}
          <details>
            <summary><Icon name="forward" size={16} />Leave things out{lines.length > 0 && <span class="badge">{counted(lines.length, "pattern")}</span>}</summary>
            <div class="inside stack tight">
              <div class="row" role="group" aria-label="Often left out">
                {USUAL.map((pattern) => (
                  <button key={pattern} type="button" class="button small code" aria-pressed={lines.includes(pattern)}
                    onClick={() => app.backing.edit({ excludes: toggled(state.excludes, pattern) })}>{pattern}</button>
                ))}
              </div>
              <div class="field">
                <label class="unseen" for={`${name}-excludes`}>Patterns of what is left out</label>
                <textarea id={`${name}-excludes`} class="input" rows={4} spellcheck={false} value={state.excludes} placeholder={"*.iso\nDownloads/\n!Downloads/keep.iso"}
                  aria-describedby={`${name}-patterns`} onInput={(event) => app.backing.edit({ excludes: event.currentTarget.value })} />
                <p class="hint" id={`${name}-patterns`}>One pattern in a line, as in .gitignore: <code>*.tmp</code>, <code>cache/</code>, <code>/build</code>, and <code>!keep.tmp</code> to keep one.</p>
              </div>
            </div>
          </details>
          {folder.canRemember && (
            <label class="tick">
              <input type="checkbox" checked={state.remember} onChange={(event) => app.backing.edit({ remember: event.currentTarget.checked })} />
              <span>Remember this folder here, so that the next backup is one click</span>
            </label>
          )}
        </div>
      </div>
      {folder.blindTo.length > 0 && (
        <Notice tone={hides ? "warn" : "calm"} title={`Not in this backup: ${blindness(folder.blindTo)}`}>
          <p class="soft">Browsers do not show them to a page. The <code>copal</code> command saves them too.</p>
          {folder.blindTo.includes("names-not-text") && (
            <p class="small soft">On this system a name may be bytes that are not text (UTF-8). The browser leaves such files and folders out of a list, and does not say which. Drop the folder on the page instead: then the end of the backup says where they are.</p>
          )}
          {hides && <Hidden app={app} busy={false} />}
        </Notice>
      )}
      <div class="row">
        <button type="submit" class="button main large">Start backup</button>
        <button type="button" class="button large plain" onClick={() => app.backing.choose()}>Cancel</button>
      </div>
    </form>
  );
}

/** Asked once, with the first backup: devices and their backups are told apart by it. */
function DeviceName({ app, id }: { app: App; id: string }) {
  const stage = app.staging.stage.value;
  const suggested = stage.at === "open" ? stage.environment.suggestedName : "";
  useEffect(() => app.backing.edit({ device: suggested }), []);
  return (
    <div class="field">
      <label for={id}>Name of this device</label>
      <input id={id} class="input" type="text" required maxLength={80} autocomplete="off" defaultValue={suggested} aria-describedby={`${id}-hint`}
        onInput={(event) => app.backing.edit({ device: event.currentTarget.value })} />
      <p class="hint" id={`${id}-hint`}>So that you can tell its backups from those of your other devices, such as "Anna's laptop". It stays.</p>
    </div>
  );
}
