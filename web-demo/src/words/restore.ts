/** Restore: the list of snapshots. */

import type { ComponentChildren } from "preact";
import { words } from "./language";
import { counted } from "./numbers";

/** Wraps what only a screen reader says. */
type Unseen = (words: string) => ComponentChildren;

export const restore = words("restore", {
  lead: "Choose a snapshot to look into it. Every byte is verified before it is handed to you.",
  whereYouAre: "Where you are",
  snapshots: "Snapshots",
  forgottenSnapshots: "Forgotten snapshots",
  number: (snapshots: number) => counted(snapshots, "snapshot"),
  files: (files: number) => counted(files, "file"),
  reading: "Reading the snapshots",
  kept: {
    title: "What is kept",
    lead: "The service forgets old backups by rules that you sign, and frees their room. Nobody else can change the rules.",
  },
  writeOnly: {
    title: "This device can add backups, but not read them",
    why: "It was enrolled as a write-only device. It holds no key that opens what is stored, its own backups included, so that whoever takes this device cannot read or delete them.",
    instead: (command: ComponentChildren): ComponentChildren => ["To restore, unlock with the owner's passphrase on a computer of the owner, or use the ", command, " command there."],
    backUp: "Back up",
  },
  unread: {
    title: (snapshots: number) => `${counted(snapshots, "snapshot")} cannot be read`,
    advice: (command: ComponentChildren): ComponentChildren => ["The others are whole. Ask whoever runs the repository to run ", command, "."],
  },
  none: {
    title: "No snapshots yet",
    means: "Each backup becomes a snapshot: everything as it was at that time.",
    backUp: "Back up a folder",
  },
  noneForgotten: {
    title: "Nothing is forgotten",
    means: "A snapshot that was forgotten stands here until prune frees its data.",
  },
  whichSeries: "Which backups",
  allSeries: "All backups",
  whichTag: "With which tag",
  allTags: "All tags",
  search: (unseen: Unseen): ComponentChildren => ["Search", unseen(" all snapshots")],
  shares: "Shares",
  forgotten: "Forgotten",
  forgottenAgo: (ago: string) => `Forgotten ${ago}`,
  compare: (ticked: number) => `Compare${ticked === 1 ? " (tick one more)" : ""}`,
  compareHow: "Tick two snapshots to compare them",
  pinned: "Pinned. ",
  pinnedMeans: "Pinned: it is kept whatever the policy says",
  missing: "Some files missing",
  changing: "Some files were changing",
  waiting: "Waiting to be verified",
  verifiedByService: "Verified by the service",
  verified: "Verified",
});
