/** Taking out: what is selected, or else the whole folder, as a download or into a directory of this computer. */

import type { ComponentChildren } from "preact";
import type { Entry, EntryId, Snapshot } from "../../../core/api";
import { browse } from "../../../words/browse";
import type { App } from "../../app";
import { Icon } from "../../parts/icon";
import { unseen } from "../../parts/unseen";

export function Take({ app, snapshot, here, hereName, selected, children }: { app: App; snapshot: Snapshot; here: EntryId; hereName: string; selected: readonly Entry[]; children?: ComponentChildren }) {
  const words = browse.take;
  const stage = app.staging.stage.value;
  const environment = stage.at === "open" ? stage.environment : null;
  const ids = selected.length > 0 ? selected.map((entry) => entry.id) : [here];
  const title = selected.length === 0 ? hereName : selected.length === 1 ? selected[0]?.name ?? "" : words.items(selected.length);
  const isFile = selected.length === 1 && selected[0]?.kind === "file";
  const isFolder = selected.length === 0;
  return (
    <div class="row firm takes">
      {children}
      <button type="button" class="button" onClick={() => { app.sharing.value = { snapshot: snapshot.id, entries: ids, title }; }}>
        <Icon name="link" size={18} /><span>{words.share(isFolder, unseen)}</span>
      </button>
      <button type="button" class="button" onClick={() => void app.jobs.add(isFile ? title : `${title}.zip`, "download", app.core.download(snapshot.id, ids, { askWhere: environment?.canAskWhere ?? false }))}>
        <Icon name="download" size={18} /><span>{words.download(isFile, isFolder, unseen)}</span>
      </button>
      {environment?.canPickFolder && (
        <button type="button" class="button main" onClick={() => void app.jobs.add(title, "into", app.core.restoreInto(snapshot.id, ids, app.jobs.decide))}>
          <Icon name="into" size={18} /><span>{words.restore(isFolder, unseen)}</span>
        </button>
      )}
    </div>
  );
}
