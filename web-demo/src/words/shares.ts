/** Shares: links to files. */

import type { ComponentChildren } from "preact";
import { count, counted } from "./numbers";
import { words } from "./language";

/** Makes some words of a sentence stand out. */
type Strong = (words: string) => ComponentChildren;

export const shares = words("shares", {
  about: "Links that open copies of your files without the passphrase. To make one, look into a snapshot and choose Share.",
  reading: "Reading the shares",
  none: "Nothing is shared",
  noneWhy: "A link that has ended or was revoked does not stand here any more.",
  facts: (made: string, size: string, ends: string, isOver: boolean) => `Made ${made} · ${size} · ${isOver ? "ended" : "ends"} ${ends}`,
  ended: "Ended",
  opened: (taken: number, most: number) => `Opened ${count(taken)} of ${count(most)}`,

  revoke: "Revoke",
  revokeWhich: (name: string) => `Revoke ${name}?`,
  revoking: "Revoking…",
  revoked: "Revoked.",
  revokeSays: "The link opens nothing from then on, a download that runs breaks off, and the server deletes the copy. It cannot be undone.",
  revokeStays: "Whoever has saved the files already keeps them. The backup stays as it is.",

  share: (name: string) => `Share ${name}`,
  make: "Make the link",
  name: "Name",
  counting: "Counting what is in it… Whoever opens the link sees this name too.",
  counted: (files: number, size: string) => `${counted(files, "file")}, ${size}. Whoever opens the link sees this name too.`,
  tooLarge: (most: string) => `A link shares at most ${most}`,
  chooseLess: "Choose less.",
  endsAfter: "Ends after",
  days: (days: number) => counted(days, "day"),
  mayBeOpened: "May be opened",
  times: (times: number) => (times === 1 ? "once" : `${count(times)} times`),
  whoReads: (strong: Strong): ComponentChildren => [strong("Whoever has the link"), " reads these files, their names and times, without a passphrase, until it ends. So does everybody it is passed on to."],
  whatServerLearns: (strong: Strong): ComponentChildren => [strong("The server"), " stores a second copy of them, encrypted anew. It learns how large it is, and when and from where it is opened. It cannot read it. No key of your backups is given away."],

  sharing: (name: string) => `Sharing ${name}`,
  stored: (done: string, total: string) => `${done} of ${total} stored`,
  keepOpen: "Keep this page open. Nothing can be opened before all of it is there.",
  stop: "Stop",

  isMade: "The link is made",
  saysMade: "The link is made.",
  opens: (files: number, size: string, times: number, ends: string) => `It opens ${counted(files, "file")}, ${size}, ${times === 1 ? "once" : `${count(times)} times`} until ${ends}.`,
  link: "The link",
  copy: "Copy",
  copied: "Copied",
  saysCopied: "Copied.",
  onlyNow: "It is shown only here, and only now",
  onlyNowWhy: "The key is in the link, and is kept nowhere. Send it over a way that you trust. Under “Shares” you see how often it was opened, and can revoke it.",
  done: "Done",
  leftOut: "Left out",
  entriesLeftOut: (entries: number) => `${counted(entries, "entry", "entries")} left out`,
  why: { damaged: "damaged", link: "a link to another place", other: "no file" },
});
