/** Versions: a file over time, comparisons and searches. */

import type { ComponentChildren } from "preact";
import { count, counted } from "./numbers";
import { words } from "./language";

const STANDING = { in: "In", damaged: "Damaged in", out: "Not in" };

export const versions = words("versions", {
  title: "Versions",
  of: (name: ComponentChildren): ComponentChildren => ["Versions of ", name],
  which: "Which snapshots",
  theseBackups: "These backups",
  allBackups: "All backups and devices",
  tickTwo: "Tick two versions to compare them",
  compareThem: "Compare",
  tickOneMore: "Compare (tick one more)",
  looking: (looked: number, snapshots: number) => `Looking into ${counted(snapshots, "snapshot")}: ${count(looked)} done…`,
  found: (versions: number, snapshots: number) => `${counted(versions, "version")} in ${counted(snapshots, "snapshot")}`,
  none: "No snapshot has this file",
  olderList: "an older list",
  aSnapshot: "a snapshot",
  /** In which snapshots something stands, by when they were made. */
  where: (standing: keyof typeof STANDING, snapshots: number, oldest: string, newest: string) =>
    `${STANDING[standing]} ${snapshots === 1 ? `the snapshot of ${newest}` : `${counted(snapshots, "snapshot")}, from ${oldest} to ${newest}`}`,
  incomplete: "Some files could not be read then",

  change: {
    unread: "Cannot be read",
    absent: "Not there",
    first: "First version",
    oldestRead: "Oldest version that can be read",
    cameBack: (change: string) => `Came back: ${change.charAt(0).toLowerCase()}${change.slice(1)}`,
    became: { file: "Became a file", directory: "Became a folder", symlink: "Became a link", other: "Became a special file" },
    same: "The same as before",
    onlyTime: "Only its time changed",
    sameAs: (when: string) => `The same content as ${when}`,
    sameAsOlder: "The same content as an older version",
    content: "Content changed",
    grew: (size: string) => `Grew by ${size}`,
    shrank: (size: string) => `Shrank by ${size}`,
  },

  beside: {
    before: "Before",
    after: "This version",
    changed: (when: string) => `changed ${when}`,
    same: "The same content",
    sameWhy: "Only the time of the file is another.",
    lines: (removed: number, added: number) => `${counted(removed, "line")} removed, ${counted(added, "line")} added`,
    linesInFirst: (removed: number, added: number, size: string) => `${counted(removed, "line")} removed, ${counted(added, "line")} added, in the first ${size}`,
    onlyChanges: "Show the changes only",
    allLines: "Show all lines",
    differs: "What differs",
    more: (lines: number) => `${count(lines)} lines more: download both versions to compare them.`,
    skipped: (lines: number) => `${counted(lines, "line")} the same`,
    removed: "Removed: ",
    added: "Added: ",
  },

  compare: {
    title: "Compare",
    heading: "What changed",
    which: "Which changes",
    all: "All",
    soFar: (differences: number) => `${counted(differences, "difference")} so far…`,
    nothing: "Nothing differs",
    nothingWhy: "The two snapshots hold the same files.",
    differences: "Differences",
    detailsOnly: (folders: number, isMode: boolean) => `${counted(folders, "folder")} ${folders === 1 ? "differs" : "differ"} in details only (${isMode ? "times, permissions" : "times"}).`,
    hide: "Hide them",
    show: "Show them",
  },

  seek: {
    title: "Search",
    heading: "Search all snapshots",
    all: "All snapshots",
    example: "A part of the name, or a pattern such as *.jpg",
    name: "Name",
    kind: "Kind",
    anyKind: "Any kind",
    kinds: { folder: "Folders", picture: "Pictures", document: "Documents", video: "Videos", audio: "Music and sound", archive: "Archives", other: "Other files" },
    size: "Size",
    anySize: "Any size",
    andMore: (size: string) => `${size} and more`,
    where: "Where",
    anywhere: "All",
    from: "Changed from",
    until: "Changed until",
    searching: (looked: number, snapshots: number, hits: number) => `Searching… ${count(looked)} of ${counted(snapshots, "snapshot")}, ${counted(hits, "hit")}`,
    found: (hits: number, snapshots: number) => `${counted(hits, "hit")} in ${counted(snapshots, "snapshot")}`,
    foundMore: (hits: number, snapshots: number) => `${counted(hits, "hit")} in ${counted(snapshots, "snapshot")}, and more: search for something longer`,
    ask: "What are you looking for?",
    askWhy: "Every file of every snapshot is searched, also files that were deleted long ago.",
    none: "No snapshot has such a file",
    noneWhy: "Try a part of the name, or fewer conditions.",
    hits: "Hits",
  },
});
