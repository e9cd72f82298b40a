/** Later: a part of the page that is loaded when it is shown for the first time. */

import { type ComponentType, h } from "preact";
import { useEffect, useState } from "preact/hooks";
import { problem } from "../../core/problem";
import { ProblemNotice } from "./notice";

/** Shows what `load` gives. What cannot be loaded, since the server is away or has a newer page, is tried again on demand. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function Later(props: Props) {
    const [state, show] = useState<"asking" | "here" | "failed">(loaded ? "here" : "asking");
    useEffect(() => {
      if (state !== "asking") return;
      let isShown = true;
      load().then(
        (part) => {
          loaded = part;
          if (isShown) show("here");
        },
        () => { if (isShown) show("failed"); },
      );
      return () => { isShown = false; };
    }, [state]);
    if (loaded && state === "here") return h(loaded as ComponentType<object>, props);
    if (state === "failed") return <div class="page stack"><ProblemNotice problem={problem("server-gone")} retry={() => show("asking")} /></div>;
    // Whoever comes here has the focus here, and it goes on to the heading with the part.
    return <div class="page stack" role="status" data-landing><span class="unseen">Loading</span><div class="bone verdict-bone" /><div class="bone chart-bone" /></div>;
  };
}
