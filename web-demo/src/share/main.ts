//! The page of a link: takes the key out of the address, and opens the share once somebody has asked for it. A preview of the link, or
//! a program that looks into messages, asks for nothing and counts as nothing.

import { keyIn } from "../core/share/keys";
import { OpenShare, ShareError, ticketBox } from "../core/share/read";
import { button, make, unseen } from "./dom";
import { Files } from "./files";
import { language, trouble, words } from "./words";

const page = document.getElementById("share")!;
let key: Uint8Array<ArrayBuffer> | null = null;
let going = new AbortController();

/** Takes the key out of the address, so that no bookmark and no glance holds it. The browser has noted the address by then: no script can
 * take it out of the list of visited pages. */
function take(): void {
  if (location.hash !== "") {
    key = keyIn(location.hash);
    history.replaceState(null, "", location.pathname);
  }
  going.abort();
  going = new AbortController();
  if (!globalThis.crypto?.subtle) return show(words.needsHttps, make("p", { class: "soft" }, words.needsHttpsWhy));
  if (key === null) return show(words.noLink, make("p", { class: "soft" }, words.noLinkWhy));
  ask();
}

function ask(): void {
  show(
    words.somebody,
    make("p", {}, words.encrypted),
    make("div", { class: "row" }, button("main large", () => void open(), words.show)),
    make("p", { class: "small soft" }, words.counts),
  );
}

async function open(): Promise<void> {
  const { signal } = going;
  show(words.somebody, make("p", { class: "row", role: "status" }, make("span", { class: "spinner", "aria-hidden": "true" }), words.opening));
  try {
    const share = await OpenShare.open(key!, ticketBox(sessionStorage), signal);
    if (signal.aborted) return;
    const files = new Files(share, signal);
    show(files.title, ...files.parts);
  } catch (error) {
    if (signal.aborted) return;
    const { title, advice } = trouble(error);
    const isGone = error instanceof ShareError && error.why === "gone";
    show(title, make("p", { class: "soft" }, advice), !isGone && make("div", { class: "row" }, button("main", () => void open(), words.again)));
    if (isGone) key = null;
  }
}

function show(title: string | Node, ...parts: (Node | false)[]): void {
  const heading = make("h1", { tabindex: "-1", class: "wrap" }, title);
  page.replaceChildren(make("p", { class: "brand" }, "Copal", unseen(words.brand)), heading, ...parts.filter((part): part is Node => part !== false));
  heading.focus();
}

[document.documentElement.lang, document.title] = [language, words.title];
addEventListener("hashchange", take);
take();
