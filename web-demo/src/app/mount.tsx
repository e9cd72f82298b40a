/** The display's one door: puts the page into an element, over a core that may still be on its way. */

import { effect } from "@preact/signals";
import { render } from "preact";
import type { Core } from "../core/api";
import { problemOf } from "../core/problem";
import { App } from "./app";
import { Starting, Unreachable } from "./screens/start";
import { Shell } from "./shell";
import { language, preferred, speak } from "../words/language";
import "../style/tokens.css";
import "../style/base.css";
import "../style/parts.css";
import "../style/screens.css";

export function mount(root: HTMLElement, core: Core | Promise<Core>): void {
  effect(() => { document.documentElement.lang = language(); });
  render(<Starting />, root);
  // A catalogue that cannot be had leaves the page in English.
  const spoken = speak(preferred(navigator.languages)).catch(() => {});
  Promise.all([core, spoken]).then(
    ([ready]) => {
      const app = new App(ready);
      addEventListener("popstate", app.route.follow);
      render(<Shell app={app} />, root);
      void app.start();
    },
    (thrown: unknown) => render(<Unreachable problem={problemOf(thrown)} asking={false} retry={() => location.reload()} />, root),
  );
}
