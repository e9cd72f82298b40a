/** Backing up: which part of it is shown follows from the state of the work. */

import { useEffect } from "preact/hooks";
import type { Session } from "../../../core/api";
import type { App } from "../../app";
import { Choose } from "./choose";
import { Done, Ended } from "./end";
import { Ready } from "./ready";
import { Running } from "./running";

export function Backup({ app, session }: { app: App; session: Session }) {
  const state = app.backing.state.value;
  useEffect(() => { void app.backing.loadRemembered(); }, [app]);

  switch (state.at) {
    case "choosing": return <Choose app={app} state={state} />;
    case "ready": return <Ready app={app} state={state} session={session} />;
    case "running": return <Running app={app} state={state} />;
    case "done": return <Done app={app} state={state} session={session} />;
    case "ended": return <Ended app={app} state={state} />;
  }
}
