/** Parts: what stands on several screens. */

import { words } from "./language";
import { counted } from "./numbers";

export const parts = words("parts", {
  cancel: "Cancel",
  close: "Close",
  tryAgain: "Try again",
  loading: "Loading",
  gettingReady: "Getting ready…",
  stopping: "Stopping…",
  signing: "Signing…",
  noAnswer: "The server did not answer",
  goesOn: (trouble: string) => `${trouble}: it goes on by itself`,
  // A list of some of them.
  which: "Which ones",
  others: (others: number) => `and ${counted(others, "other")}`,
  notLoaded: "This part of the page could not be loaded.",
  notLoadedWhy: "The server is away, or it has a newer page by now. Loading the page anew locks it.",
  loadAnew: "Load the page anew",
  showTyped: "Show what is typed",
  nameOfThisDevice: "Name of this device",
  nameSigns: "This browser signs it, and needs a name for that. It stays.",
});
