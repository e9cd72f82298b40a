/** Routes: which screen is shown, with the browser's back and forward. Only the screen's name stands in the address: names of files are nobody else's business, and the history is kept on disk. */

import { signal } from "@preact/signals";
import type { Entry, EntryId, Snapshot } from "../core/api";

export const SCREENS = ["backup", "restore", "status", "devices", "settings"] as const;
export type Screen = (typeof SCREENS)[number];

/** A directory on the way down, as it is shown and as the core knows it. */
export interface Crumb {
  id: string;
  name: string;
}

export type View =
  | { screen: "backup" | "status" | "devices" }
  /** `keys`: what opens the repository. */
  | { screen: "settings"; keys?: true }
  | { screen: "restore"; snapshot: null }
  /** `at`: the entry to begin at. */
  | { screen: "restore"; snapshot: Snapshot; crumbs: Crumb[]; at?: EntryId }
  | { screen: "restore"; versions: { snapshot: Snapshot; entry: Entry } }
  | { screen: "restore"; seek: true }
  | { screen: "restore"; kept: true }
  | { screen: "restore"; shares: true }
  | { screen: "restore"; compare: { before: Snapshot; after: Snapshot } };

export class Route {
  readonly view = signal<View>({ screen: "backup" });
  /** What each step of the history shows; the history itself holds the number only. */
  #steps: View[] = [];
  #at = 0;

  /** Takes the screen that the address names, if it names one. */
  begin(): void {
    const named = SCREENS.find((screen) => location.hash === `#${screen}`);
    this.#steps = [viewOf(named ?? "backup")];
    this.#at = 0;
    this.view.value = this.#steps[0] ?? { screen: "backup" };
    history.replaceState({ step: 0 }, "", `#${this.view.value.screen}`);
  }

  go(view: View): void {
    this.#steps.length = this.#at + 1;
    this.#steps.push(view);
    this.#at += 1;
    history.pushState({ step: this.#at }, "", `#${view.screen}`);
    this.view.value = view;
  }

  /** What a locked page must not remember. */
  forget(): void {
    const screen = this.view.value.screen;
    this.#steps = this.#steps.map((view) => viewOf(view.screen));
    this.view.value = viewOf(screen);
  }

  /** The browser went back or forward. */
  readonly follow = (event: PopStateEvent): void => {
    const step: unknown = (event.state as { step?: unknown } | null)?.step;
    const known = typeof step === "number" ? this.#steps[step] : undefined;
    // A page that was loaded anew does not know the steps of before.
    if (known && typeof step === "number" && location.hash === `#${known.screen}`) {
      this.#at = step;
      this.view.value = known;
      return;
    }
    this.view.value = viewOf(SCREENS.find((screen) => location.hash === `#${screen}`) ?? "backup");
  };
}

export function viewOf(screen: Screen): View {
  return screen === "restore" ? { screen, snapshot: null } : { screen };
}
