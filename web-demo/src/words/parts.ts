/** Parts: what stands on several screens. */

import { words } from "./language";

export const parts = words("parts", {
  cancel: "Cancel",
  close: "Close",
  tryAgain: "Try again",
  loading: "Loading",
  notLoaded: "This part of the page could not be loaded.",
  notLoadedWhy: "The server is away, or it has a newer page by now. Loading the page anew locks it.",
  loadAnew: "Load the page anew",
  showTyped: "Show what is typed",
  nameOfThisDevice: "Name of this device",
  nameSigns: "This browser signs it, and needs a name for that. It stays.",
});
