/** A button that leads from a file to its versions. */

import type { Entry, Snapshot } from "../../../core/api";
import type { App } from "../../app";
import { versions as words } from "../../../words/versions";
import { Icon } from "../../parts/icon";

export function VersionsButton({ app, snapshot, entry }: { app: App; snapshot: Snapshot; entry: Entry }) {
  return <button type="button" class="button" onClick={() => app.route.go({ screen: "restore", versions: { snapshot, entry } })}><Icon name="clock" size={18} /><span>{words.title}</span></button>;
}
