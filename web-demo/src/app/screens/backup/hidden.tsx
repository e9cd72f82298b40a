/** Hidden: what Chrome and Edge do not show of a folder that was picked, and the way that shows it. */

import { useRef } from "preact/hooks";
import type { App } from "../../app";
import { backup } from "../../../words/backup";

export function Hidden({ app, busy }: { app: App; busy: boolean }) {
  const words = backup.hidden;
  const input = useRef<HTMLInputElement>(null);
  const stage = app.staging.stage.value;
  const canInput = stage.at === "open" && stage.environment.canInputFolder;
  const chosen = (list: FileList | null) => {
    if (list && list.length > 0) void app.backing.take(app.core.folderFromInput(list));
  };
  return (
    <>
      <p class="small soft">{words.which((text) => <code>{text}</code>)}</p>
      {canInput && (
        <p>
          <button type="button" class="button small" disabled={busy} onClick={() => input.current?.click()}>{words.choose}</button>
          <input ref={input} class="unseen" type="file" multiple {...{ webkitdirectory: true }} tabIndex={-1} aria-label={words.input} data-testid="list-input"
            onChange={(event) => chosen(event.currentTarget.files)} />
        </p>
      )}
    </>
  );
}
