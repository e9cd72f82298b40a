/** Leaving: after a lock the page is loaded anew, so that nothing that it has shown stays in its memory. */

import type { LockedBecause } from "./stage";

/** The browser, as far as leaving needs it; tests bring their own. */
export interface Surroundings {
  /** Kept while the tab is open, also when the page is loaded anew. */
  notes: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  reload(): void;
  /** Whether the server would hand out the page again. */
  isServed(): Promise<boolean>;
  /** Whether something is typed in a field. */
  isTyping(): boolean;
  wait(ms: number): Promise<void>;
}

export class Leaving {
  #isLeaving = false;

  constructor(private readonly browser: Surroundings = surroundings()) {}

  /** Why the page was locked before it was loaded anew; said once. */
  why(): LockedBecause {
    const note = this.browser.notes.getItem(NOTE);
    this.browser.notes.removeItem(NOTE);
    return note === "asked" || note === "idle" ? note : "fresh";
  }

  /** Loads the page anew while it stays locked, as soon as nobody is at it and its server is there: without the server the
   * browser would show an error instead. */
  async leave(why: "asked" | "idle", locked: () => "yes" | "opening" | "no"): Promise<void> {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    const canLeave = () => locked() === "yes" && !this.browser.isTyping();
    while (locked() !== "no") {
      if (canLeave() && (await this.browser.isServed()) && canLeave()) {
        this.browser.notes.setItem(NOTE, why);
        return this.browser.reload();
      }
      await this.browser.wait(AGAIN);
    }
    this.#isLeaving = false;
  }
}

function surroundings(): Surroundings {
  return {
    notes: notes(),
    reload: () => location.reload(),
    isServed: () => fetch(location.pathname, { cache: "no-store" }).then(({ ok }) => ok, () => false),
    isTyping: () => Array.from(document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("main :is(input, textarea)")).some(({ type, value }) => type !== "radio" && value !== ""),
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}

/** Where the browser keeps nothing, the page does not say why it was locked. */
function notes(): Surroundings["notes"] {
  try {
    return sessionStorage;
  } catch {
    return { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
  }
}

/** Holds one word. */
const NOTE = "copal-locked";
/** Milliseconds between two looks whether the server is back. */
const AGAIN = 15_000;
