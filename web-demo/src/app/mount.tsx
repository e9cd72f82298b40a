/** The display's one door: puts the page into an element, over a core. */

import { render } from "preact";
import type { Core } from "../core/api";
import { App } from "./app";
import { Shell } from "./shell";
import "../style/tokens.css";
import "../style/base.css";
import "../style/parts.css";
import "../style/screens.css";

export function mount(root: HTMLElement, core: Core): void {
  const app = new App(core);
  addEventListener("popstate", app.route.follow);
  render(<Shell app={app} />, root);
  void app.start();
}
