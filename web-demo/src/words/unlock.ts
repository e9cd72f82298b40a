/** Unlock: starting, and opening a repository. */

import type { ComponentChildren } from "preact";
import { words } from "./language";

export const unlock = words("unlock", {
  language: "Language",
  thisDevice: "This device",
  forgetDevice: "Forget this device",
  askServer: "Ask the server again",
  asking: "Asking again…",

  starting: "Starting…",
  cannotRun: "This browser cannot run Copal",
  itLacks: "It lacks",
  useAnother: (command: ComponentChildren): ComponentChildren => ["Use a current Firefox, Chrome, Edge or Safari. What is stored is not affected, and the ", command, " command reaches it from any computer."],
  couldNotStart: "Copal could not start",
  away: "The backup server does not answer",
  noRepository: "There is no repository here yet",

  title: "Unlock your backups",
  repository: (id: ComponentChildren, owner: ComponentChildren): ComponentChildren => ["Repository ", id, " · owner ", owner],
  how: "How to unlock",
  ways: { passphrase: "Passphrase", "recovery-code": "Recovery code", enrollment: "Enrollment" },
  missing: { passphrase: "Enter the passphrase.", "recovery-code": "Enter the recovery code.", enrollment: "Paste the enrollment line or link." },
  slotsClosed: "This server keeps its key slots closed",
  askToOpen: "A browser that was never here cannot unlock with a passphrase. Ask whoever runs the server to open them for a while, or use an enrollment.",
  recoveryCode: "Recovery code",
  codeWasShown: "It was shown once, when the repository was made.",
  lineOrLink: "Enrollment line or link",
  linePrinted: (command: ComponentChildren): ComponentChildren => ["The line or link that ", command, " printed. It works once."],
  showPassphrase: "Show the passphrase",
  unlock: "Unlock",
  unlocking: "Unlocking…",
  join: "Join",
  joining: "Joining…",
  makerDecided: "Whoever made the enrollment has decided what this browser may do.",
  staysHere: "What you type stays in this browser: the server never sees it.",
  anotherWay: "Unlock in another way",
  locked: {
    idle: "Locked because nobody was here for a while. Nothing is lost.",
    asked: "Locked. The keys are gone from this page.",
    failed: "Locked because something went wrong. Nothing that is stored is affected.",
  },

  joinFull: {
    title: "Make this browser a full device",
    means: "This enrollment, together with the passphrase, makes this browser a device of the repository's owner.",
    can: "It can back up, restore, and see everything.",
    cannot: "It keeps nothing that opens the repository: the passphrase is asked for each time.",
  },
  joinWriteOnly: {
    title: "Back up from this browser",
    means: "This enrollment makes this browser a device that adds backups to the repository.",
    can: "It can add backups, encrypted before they leave this browser.",
    cannot: "It cannot read or delete any, its own included. Only the owner can.",
  },
  worksOnce: "The enrollment works once. It is already gone from the address bar.",
  deviceExample: "Browser on my laptop",
  deviceHint: "So that you recognise its backups. You may leave it empty.",

  mayAdd: "This browser may add backups, and needs no passphrase for that.",
  open: "Open",
  opening: "Opening…",
  askAgain: "Ask again",
  likeNew: "If this browser forgets that it was this device, it can be unlocked like one that was never here. No backup is lost.",

  lastKnown: {
    title: "Without the server",
    keeps: (hasNetwork: boolean, time: string) => `${hasNetwork ? "The backup server does not answer." : "There is no network."} This browser keeps the list of snapshots as of ${time}.`,
    showList: "Show the list",
  },
});
