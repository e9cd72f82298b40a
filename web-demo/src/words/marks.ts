/** Marks: pins, tags and forgetting. */

import { counted } from "./numbers";
import { words } from "./language";

const DONE = { forget: "Forgotten", undelete: "Brought back", pin: "Pinned", unpin: "Unpinned", tag: "Tags changed" };

export const marks = words("marks", {
  withTicked: "With the ticked snapshots",
  ticked: (snapshots: number) => `${counted(snapshots, "snapshot")} ticked`,
  tickNone: "Tick none",
  begin: { forget: "Forget…", undelete: "Bring back…", pin: "Pin…", unpin: "Unpin…", tag: "Tags…" },

  ask: {
    forget: (snapshots: number) => `Forget ${counted(snapshots, "snapshot")}?`,
    undelete: (snapshots: number) => `Bring back ${counted(snapshots, "snapshot")}?`,
    pin: (snapshots: number) => `Pin ${counted(snapshots, "snapshot")}?`,
    unpin: (snapshots: number) => `Unpin ${counted(snapshots, "snapshot")}?`,
    tag: (snapshots: number) => `Change the tags of ${counted(snapshots, "snapshot")}?`,
  },
  says: {
    forget: "They leave the lists of every device at once, and prune may free what only they need.",
    undelete: "They stand in the lists of every device again.",
    pin: "They are kept, whatever the policy says, and nobody can forget them before somebody unpins them.",
    unpin: "From then on the policy and people may forget them.",
    tag: "Tags are names that all your devices see and the server cannot read.",
  },
  sign: { forget: "Sign and forget", undelete: "Sign and bring back", pin: "Sign and pin", unpin: "Sign and unpin", tag: "Sign" },

  tagsToRemove: "Tags to remove",
  remove: "Remove:",
  addTags: "Add tags",
  tagExamples: "before-move, taxes",
  commas: "With commas between them.",

  asking: "Asking what the policy keeps…",
  untold: "What the policy keeps cannot be told",
  untoldWhy: "Its floor and holds count all the same.",
  bringBack: (span: string) => `You can bring them back for at least ${span}. For that long prune deletes nothing of theirs. What the policy’s floor or a hold protects can be brought back for as long as it is protected.`,
  isPinned: "It is pinned, and stays: unpin it first.",
  stays: {
    hold: "Its data stays: a hold keeps all backups of this name.",
    last: "Its data stays: the floor keeps the last backups of each name.",
    young: (until: string) => `Its data stays until ${until}: the floor keeps what is that young.`,
  },

  stored: "Signed and stored",
  storedWhy: "The server has not taken it in yet. The list shows it once it has.",
  done: (act: keyof typeof DONE, snapshots: number) => `${DONE[act]}: ${counted(snapshots, "snapshot")}`,
  unchanged: (snapshots: number, isFreed: boolean) => `${counted(snapshots, "snapshot")} stayed as before: ${isFreed ? "prune has freed their data already." : "somebody has changed them meanwhile."}`,
  after: {
    forget: "Under Forgotten they can be brought back until their data is freed.",
    undelete: "They stand in the lists again, on every device.",
    pin: "They are kept until somebody unpins them.",
    unpin: "The policy and people may forget them now.",
    tag: "The other devices see them too.",
  },
});
