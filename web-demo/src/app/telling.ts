/** Telling: the system's notifications, when a backup ends and nobody looks at the page. */

import type { ProblemCode } from "../core/api";
import { alarms as words } from "../words/alarms";
import { problems } from "../words/problems";
import type { Backing } from "./backing";
import { leftOutWords, troubles } from "./plain";
import { shown } from "./words";

/** What the browser lets a page do; tests bring their own. */
export interface Notifier {
  isLookedAt(): boolean;
  isAllowed(): boolean;
  /** One takes the place of another of the same tag. */
  show(title: string, body: string, tag?: string): void;
}

export class Telling {
  #last: Backing | null = null;

  constructor(private readonly notifier: Notifier = BROWSER) {}

  /** The state of backing up has changed. */
  hear(state: Backing, isWanted: boolean): void {
    const hasEnded = this.#last?.at === "running" && (state.at === "done" || (state.at === "ended" && !SILENT.has(state.problem.code)));
    this.#last = state;
    if (!hasEnded || !isWanted || this.notifier.isLookedAt() || !this.notifier.isAllowed()) return;
    const label = shown(state.options.label);
    // The counts alone: a notification may stand on a locked screen.
    if (state.at === "done") this.notifier.show(words.backedUp(label), troubles(state.result.leftOut) > 0 ? leftOutWords(state.result.leftOut) : "");
    else this.notifier.show(words.notBackedUp(label), problems[state.problem.code].title);
  }
}

/** What the person has ended, and what another tab backs up. */
const SILENT = new Set<ProblemCode>(["cancelled", "elsewhere"]);

/** Whether this browser shows notifications of a page at all. */
export function canNotify(): boolean {
  return typeof Notification === "function";
}

/** Asks the person, in a gesture; false if they or the browser forbid it. */
export async function askToNotify(): Promise<boolean> {
  return canNotify() && (await Notification.requestPermission()) === "granted";
}

/** What this browser does. */
export const BROWSER: Notifier = {
  isLookedAt: () => document.visibilityState === "visible" && document.hasFocus(),
  isAllowed: () => canNotify() && Notification.permission === "granted",
  show: (title, body, tag = "copal-backup") => {
    try {
      new Notification(title, { body, tag });
    } catch {
      // Some systems let only an installed page's service worker notify.
    }
  },
};
