//! A page without a display: tests ask the core by hand.

import { connect } from "../../../src/core";
import type { Core, Folder } from "../../../src/core/api";

declare global {
  interface Window {
    core: Core;
    dropped: Promise<Folder> | null;
  }
}

const drop = document.getElementById("drop")!;
window.dropped = null;
drop.addEventListener("dragover", (event) => event.preventDefault());
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  window.dropped = window.core.folderFromDrop(event.dataTransfer!);
});
window.core = await connect();
document.body.dataset["ready"] = "yes";
