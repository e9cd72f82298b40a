/** Settings: the words of that screen. */

import { words } from "./language";

export const settings = words("settings", {
  language: "Language",
  /** The browser's own language, if the page speaks it. */
  browsers: "The browser’s",
});
