/** Preview: what is looked at before it is restored. */

import { words } from "./language";

export const preview = words("preview", {
  download: "Download",
  changed: (when: string) => `changed ${when}`,
  fetching: "Fetching and verifying…",
  fileBefore: "The file before",
  nextFile: "The next file",
  place: (at: string, files: string) => `${at} of ${files}`,
  content: "Content",
  first: (shown: string, total: string) => `The first ${shown} of ${total}.`,
  picture: (name: string) => `Picture ${name}`,
  sound: (name: string) => `Sound ${name}`,
  film: (name: string) => `Film ${name}`,
  isEmpty: "This file is empty",
  tooLarge: { title: "This picture is too large to show", advice: "Download it to see it." },
  unknown: { title: "There is no preview of this kind of file", advice: "Download it to open it with the right program." },
  broken: "The browser cannot show this picture",
  isWhole: "Its bytes are whole. Download it to open it.",
  noPlayer: { title: "This browser cannot play from a backup", advice: "Download the file to play it." },
  noSound: { title: "The browser cannot play this kind of file", advice: "Download it to play it with another program." },
  paper: {
    locked: { title: "This document has a password of its own", advice: "Download it to open it." },
    unshown: "This document cannot be shown here",
    drawing: "Drawing the first page…",
    page: (page: number) => `Page ${page}`,
    pageOf: (page: number | string, whole: string) => `Page ${page} of ${whole}`,
    before: "Page before",
    next: "Next page",
  },
  /** Why a tile has no picture. */
  noThumb: { damaged: "Damaged", broken: "Cannot be shown", "too-large": "Too large to show small" },
});
