//! The page of a link: takes the key out of the address, and opens the share once somebody has asked for it. A preview of the link, or
//! a program that looks into messages, asks for nothing and counts as nothing.

import { keyIn } from "../core/share/keys";
import { OpenShare, ShareError, ticketBox } from "../core/share/read";
import { button, make, unseen } from "./dom";
import { Files } from "./files";
import { trouble } from "./words";

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
  if (!globalThis.crypto?.subtle) return show("This page needs https", make("p", { class: "soft" }, "Open the link over https, in a current browser."));
  if (key === null) return show("There is no link here", make("p", { class: "soft" }, "A link to shared files is longer than this address. Open it again, whole, from the message that it came in."));
  ask();
}

function ask(): void {
  show(
    "Somebody shares files with you",
    make("p", {}, "They are encrypted. Your browser opens them here with the key in the link, which no server gets to see."),
    make("div", { class: "row" }, button("main large", () => void open(), "Show files")),
    make("p", { class: "small soft" }, "Showing them counts as one opening of the link. Nothing is fetched before."),
  );
}

async function open(): Promise<void> {
  const { signal } = going;
  show("Somebody shares files with you", make("p", { class: "row", role: "status" }, make("span", { class: "spinner", "aria-hidden": "true" }), "Opening…"));
  try {
    const share = await OpenShare.open(key!, ticketBox(sessionStorage), signal);
    if (signal.aborted) return;
    const files = new Files(share, signal);
    show(files.title, ...files.parts);
  } catch (error) {
    if (signal.aborted) return;
    const { title, advice, canRetry } = trouble(error);
    show(title, make("p", { class: "soft" }, advice), canRetry && make("div", { class: "row" }, button("main", () => void open(), "Try again")));
    if (error instanceof ShareError && error.why === "gone") key = null;
  }
}

function show(title: string | Node, ...parts: (Node | false)[]): void {
  const heading = make("h1", { tabindex: "-1", class: "wrap" }, title);
  page.replaceChildren(make("p", { class: "brand" }, "Copal", unseen(": shared files")), heading, ...parts.filter((part): part is Node => part !== false));
  heading.focus();
}

addEventListener("hashchange", take);
take();
