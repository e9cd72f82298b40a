//! Files: what a share holds, and taking it out.

import type { OpenShare } from "../core/share/read";
import type { ShareEntry } from "../core/share/list";
import { stamp } from "../app/measures";
import { shown } from "../app/names";
import { button, make, named, unseen } from "./dom";
import { IN_MEMORY, type What, bytesIn, canSave, choosePlace, fileName, refusedNames, save } from "./save";
import { size, trouble, words } from "./words";

/** The list, and what runs. */
export class Files {
  readonly title: Node;
  readonly parts: HTMLElement[];
  readonly #state = make("div", { class: "stack tight", hidden: "" });
  readonly #list = make("ul", { class: "files", "aria-label": words.files });
  readonly #more = button("plain", () => this.#show(), "");
  readonly #files: ShareEntry[];
  #shown = 0;
  #running: AbortController | null = null;

  constructor(
    private readonly share: OpenShare,
    private readonly ended: AbortSignal,
  ) {
    const { list, ticket } = share;
    this.#files = list.entries.filter((entry) => entry.size !== undefined);
    this.title = named(shown(list.name));
    const refused = refusedNames(share).length;
    this.parts = [
      make("p", {}, words.holds(this.#files.length, bytesIn(share, "all")), make("span", { class: "soft" }, words.until(stamp(1000 * ticket.ends), ticket.left))),
      ...(refused > 0 ? [make("p", { class: "small" }, words.leadOut(refused))] : []),
      ...(list.entries.length > 1 ? [this.#act("all", "main", words.all)] : []),
      this.#state,
      this.#list,
      this.#more,
      make("p", { class: "small soft end" }, words.verified),
    ];
    this.#show();
  }

  /** The next part of the list: one that is very long takes a while to show. */
  #show(): void {
    const next = this.#files.slice(this.#shown, this.#shown + AT_ONCE);
    this.#list.append(...next.map((entry) => this.#row(entry)));
    this.#shown += next.length;
    const rest = this.#files.length - this.#shown;
    this.#more.hidden = rest === 0;
    this.#more.textContent = words.more(Math.min(rest, AT_ONCE), rest);
  }

  #row(entry: ShareEntry): HTMLElement {
    return make("li", {},
      make("span", { class: "grow wrap" }, named(shown(entry.path))),
      make("span", { class: "number" }, size(entry.size ?? 0)),
      this.#act(entry, "small", words.one, unseen(` ${shown(entry.path)}`)));
  }

  #act(what: What, classes: string, ...label: (string | Node)[]): HTMLElement {
    const bytes = bytesIn(this.share, what);
    if (!canSave(bytes)) return make("p", { class: "small soft" }, words.tooMuch(IN_MEMORY, what === "all"));
    return make("div", { class: "row" }, button(classes, () => void this.#save(what, bytes), ...label));
  }

  /** Saves in place of what runs, which goes on if the person does not say where this is to go. */
  async #save(what: What, bytes: number): Promise<void> {
    const name = fileName(this.share, what);
    const choosing = choosePlace(name, bytes);
    if ((await choosing.catch(() => undefined)) === null) return;
    this.#running?.abort();
    const running = (this.#running = new AbortController());
    if (this.ended.aborted) running.abort();
    this.ended.addEventListener("abort", () => running.abort());
    try {
      const place = (await choosing)!;
      const tell = this.#begin(name, bytes, running);
      const refused = await save(this.share, what, place, running.signal, tell);
      this.#say("good", make("p", { class: "title" }, ...words.saved(named(shown(name)), refused.length)));
    } catch (error) {
      if (this.#running !== running || this.ended.aborted) return;
      if (running.signal.aborted) return this.#say("calm", make("p", {}, words.stopped));
      const { title, advice } = trouble(error);
      this.#say("bad", make("p", { class: "title" }, named(shown(name)), `: ${title}.`), make("p", { class: "soft" }, advice));
    }
  }

  /** Shows how far it is. */
  #begin(name: string, bytes: number, running: AbortController): (done: number) => void {
    const fill = make("div");
    const bar = make("div", { class: "progress", role: "progressbar", "aria-label": words.saving(shown(name)), "aria-valuemin": "0", "aria-valuemax": "100" }, fill);
    const says = make("p", { class: "small soft grow" });
    const tell = (done: number) => {
      const part = bytes === 0 ? 1 : done / bytes;
      fill.style.transform = `scaleX(${part})`;
      bar.setAttribute("aria-valuenow", String(Math.floor(100 * part)));
      says.textContent = words.done(done, bytes);
    };
    tell(0);
    this.#state.hidden = false;
    this.#state.replaceChildren(make("p", { class: "strong wrap" }, named(shown(name))), bar, make("div", { class: "row firm" }, says, button("small", () => running.abort(), words.stop)));
    return tell;
  }

  #say(tone: "good" | "calm" | "bad", ...said: HTMLElement[]): void {
    this.#state.hidden = false;
    this.#state.replaceChildren(make("div", { class: `notice ${tone}`, role: tone === "bad" ? "alert" : "status" }, make("div", { class: "body" }, ...said)));
  }
}

/** Rows of the list that are shown at once. */
const AT_ONCE = 500;
