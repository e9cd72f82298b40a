/** Crumbs: the way from the list of snapshots to what is shown. */

import type { ComponentChildren } from "preact";
import { restore as words } from "../../words/restore";
import type { App } from "../app";
import { viewOf } from "../route";
import { Icon } from "./icon";

/** `way`: the steps after the list. The step without `go` is what is shown. */
export function Crumbs({ app, way = [] }: { app: App; way?: readonly { name: ComponentChildren; go?: () => void }[] }) {
  return (
    <nav aria-label={words.whereYouAre} class="crumbs">
      <button type="button" class="crumb" onClick={() => app.route.go(viewOf("restore"))}>{words.snapshots}</button>
      {way.map(({ name, go }, i) => (
        <span key={i} class="crumb-part">
          <Icon name="forward" size={14} />
          {go ? <button type="button" class="crumb" onClick={go}>{name}</button> : <span class="crumb here" aria-current="page">{name}</span>}
        </span>
      ))}
    </nav>
  );
}
