/** Hidden: what Chrome and Edge do not show of a folder that was picked, and the way that shows it. */

import { useRef } from "preact/hooks";
import type { App } from "../../app";

export function Hidden({ app, busy }: { app: App; busy: boolean }) {
  const input = useRef<HTMLInputElement>(null);
  const stage = app.staging.stage.value;
  const canInput = stage.at === "open" && stage.environment.canInputFolder;
  const chosen = (list: FileList | null) => {
    if (list && list.length > 0) void app.backing.take(app.core.folderFromInput(list));
  };
  return (
    <>
      <p class="small soft">Of a folder that was picked, this browser hides files and folders with unusual names: those with <code>{': ? * " < > |'}</code> or joined emoji in them, with a space or <code>~</code> at an end, ending in a dot, <code>.lnk</code> or <code>.url</code>, or kept by Windows for itself, as <code>aux.c</code> is. A folder that is dropped on the page, or chosen as a list, is saved with them, but then cannot always be remembered.</p>
      {canInput && (
        <p>
          <button type="button" class="button small" disabled={busy} onClick={() => input.current?.click()}>Choose a folder as a list</button>
          <input ref={input} class="unseen" type="file" multiple {...{ webkitdirectory: true }} tabIndex={-1} aria-label="Folder to back up as a list" data-testid="list-input"
            onChange={(event) => chosen(event.currentTarget.files)} />
        </p>
      )}
    </>
  );
}
