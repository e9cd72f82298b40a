//! Files: what a share holds, and taking it out.

import type { OpenShare } from "../core/share/read";
import type { ShareEntry } from "../core/share/list";
import { count, counted, shown, size, stamp } from "../app/words";
import { button, make, named, unseen } from "./dom";
import { IN_MEMORY, type What, bytesIn, canSave, choosePlace, fileName, refusedNames, save } from "./save";
import { trouble } from "./words";

/** The list, and what runs. */
export class Files {
  readonly title: Node;
  readonly parts: HTMLElement[];
  readonly #state = make("div", { class: "stack tight", hidden: "" });
  readonly #list = make("ul", { class: "files", "aria-label": "Shared files" });
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
    const left = ticket.left === 0 ? "This was the last opening of the link." : `The link may be opened ${ticket.left === 1 ? "once more" : `${count(ticket.left)} times more`}.`;
    const refused = refusedNames(share).length;
    this.parts = [
      make("p", {}, `${counted(this.#files.length, "file")}, ${size(bytesIn(share, "all"))}. `, make("span", { class: "soft" }, `Shared until ${stamp(1000 * ticket.ends)}. ${left}`)),
      ...(refused > 0 ? [make("p", { class: "small" }, `${counted(refused, "name")} would lead out of the folder that a zip is unpacked in. The zip leaves them out; each can be downloaded by itself.`)] : []),
      ...(list.entries.length > 1 ? [this.#act("all", "main", "Download all as zip")] : []),
      this.#state,
      this.#list,
      this.#more,
      make("p", { class: "small soft end" }, "Every byte is verified: nobody without the link has changed it. That says nothing about what the files do. Open only what you expect from whoever sent them."),
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
    this.#more.textContent = `Show ${count(Math.min(rest, AT_ONCE))} more of ${count(rest)}`;
  }

  #row(entry: ShareEntry): HTMLElement {
    return make("li", {},
      make("span", { class: "grow wrap" }, named(shown(entry.path))),
      make("span", { class: "number" }, size(entry.size ?? 0)),
      this.#act(entry, "small", "Download", unseen(` ${shown(entry.path)}`)));
  }

  #act(what: What, classes: string, ...words: (string | Node)[]): HTMLElement {
    const bytes = bytesIn(this.share, what);
    if (!canSave(bytes)) return make("p", { class: "small soft" }, `This browser saves at most ${size(IN_MEMORY)} here${what === "all" ? ": download the files one by one" : ""}. Chrome and Edge save more.`);
    return make("div", { class: "row" }, button(classes, () => void this.#save(what, bytes), ...words));
  }

  async #save(what: What, bytes: number): Promise<void> {
    this.#running?.abort();
    const running = (this.#running = new AbortController());
    this.ended.addEventListener("abort", () => running.abort());
    const name = fileName(this.share, what);
    try {
      const place = await choosePlace(name, bytes);
      if (place === null) return;
      const tell = this.#begin(name, bytes, running);
      const refused = await save(this.share, what, place, running.signal, tell);
      const left = refused.length === 0 ? "" : ` ${counted(refused.length, "name")} left out.`;
      this.#say("good", make("p", { class: "title" }, named(shown(name)), ` is saved. Every byte was verified.${left}`));
    } catch (error) {
      if (this.#running !== running || this.ended.aborted) return;
      if (running.signal.aborted) return this.#say("calm", make("p", {}, "Stopped. Nothing was saved."));
      const { title, advice } = trouble(error);
      this.#say("bad", make("p", { class: "title" }, named(shown(name)), `: ${title}.`), make("p", { class: "soft" }, advice));
    }
  }

  /** Shows how far it is. */
  #begin(name: string, bytes: number, running: AbortController): (done: number) => void {
    const fill = make("div");
    const bar = make("div", { class: "progress", role: "progressbar", "aria-label": `Saving ${shown(name)}`, "aria-valuemin": "0", "aria-valuemax": "100" }, fill);
    const words = make("p", { class: "small soft grow" });
    const tell = (done: number) => {
      const part = bytes === 0 ? 1 : done / bytes;
      fill.style.transform = `scaleX(${part})`;
      bar.setAttribute("aria-valuenow", String(Math.floor(100 * part)));
      words.textContent = `${size(done)} of ${size(bytes)}`;
    };
    tell(0);
    this.#state.hidden = false;
    this.#state.replaceChildren(make("p", { class: "strong wrap" }, named(shown(name))), bar, make("div", { class: "row firm" }, words, button("small", () => running.abort(), "Stop")));
    return tell;
  }

  #say(tone: "good" | "calm" | "bad", ...words: HTMLElement[]): void {
    this.#state.hidden = false;
    this.#state.replaceChildren(make("div", { class: `notice ${tone}`, role: tone === "bad" ? "alert" : "status" }, make("div", { class: "body" }, ...words)));
  }
}

/** Rows of the list that are shown at once. */
const AT_ONCE = 500;
