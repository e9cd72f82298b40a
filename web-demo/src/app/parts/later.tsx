/** Later: a part of the page that is loaded once the page is open, or when it is shown before that. */

import { type ComponentType, h } from "preact";
import { useEffect, useState } from "preact/hooks";
import { parts as words } from "../../words/parts";
import { Notice } from "./notice";

/** Shows what `load` gives. What cannot be loaded, since the server is away or has another page by now, is tried again on demand. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  const get = async () => { loaded ??= await load(); };
  parts.push(get);
  return function Later(props: Props) {
    const [state, show] = useState<"asking" | "here" | "failed">(loaded ? "here" : "asking");
    useEffect(() => {
      if (state !== "asking") return;
      let isShown = true;
      get().then(() => { if (isShown) show("here"); }, () => { if (isShown) show("failed"); });
      return () => { isShown = false; };
    }, [state]);
    if (loaded) return h(loaded as ComponentType<object>, props);
    if (state === "failed") {
      return (
        <div class="page stack">
          <Notice tone="warn" title={words.notLoaded} urgent
            acts={<><button type="button" class="button small" onClick={() => show("asking")}>{words.tryAgain}</button><button type="button" class="button small" onClick={() => location.reload()}>{words.loadAnew}</button></>}>
            <p class="soft">{words.notLoadedWhy}</p>
          </Notice>
        </div>
      );
    }
    // Whoever comes here has the focus here, and it goes on to the heading with the part.
    return <div class="page stack" role="status" data-landing><span class="unseen">{words.loading}</span><div class="bone verdict-bone" /><div class="bone chart-bone" /></div>;
  };
}

/** Loads all parts, one after another: a server that gets another page has no parts of this one any more. */
export async function loadParts(): Promise<void> {
  for (const get of parts) await get().catch(() => {});
}

const parts: (() => Promise<void>)[] = [];
