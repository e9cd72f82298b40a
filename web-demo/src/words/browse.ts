/** Browse: the folders of a snapshot, what is taken and where it goes. */

import type { ComponentChildren } from "preact";
import { words } from "./language";
import { count, counted } from "./numbers";

/** Wraps what only a screen reader says. */
type Unseen = (words: string) => ComponentChildren;

const whatOf = (isFolder: boolean) => (isFolder ? "this folder" : "what is selected");

export const browse = words("browse", {
  asItWas: (when: string, device: ComponentChildren, isFromBrowser: boolean, files: number, bytes: string): ComponentChildren =>
    [`As it was ${when} on `, device, `${isFromBrowser ? ", saved by a browser" : ""}: ${counted(files, "file")}, ${bytes}`],
  search: "Search names below this folder",
  found: (names: number, isRunning: boolean, hasMore: boolean) =>
    `${isRunning ? "Searching… " : ""}${counted(names, "name")} found${hasMore ? ", and more: search for something longer" : ""}`,
  reading: "Reading…",
  /** `read`: how many of them are here so far, while they come. */
  listed: (entries: number, read: number | null, selected: number) =>
    `${counted(entries, "entry", "entries")}${read === null ? "" : `, ${count(read)} read…`}${selected > 0 ? ` · ${count(selected)} selected` : ""}`,
  /** Stands behind the number of those selected. */
  measured: (files: number, bytes: string, isDamaged: boolean) => `: ${counted(files, "file")}, ${bytes}${isDamaged ? ", and what cannot be read" : ""}`,
  nothingFound: { title: "Nothing of that name", why: "Only names are searched, below the folder that is open." },
  isEmpty: "This folder is empty",
  namesFound: "Names found",
  tooMany: "More than can be shown in one list: search finds the others.",
  order: "Order",
  orders: { name: "By name", modified: "Newest first", size: "Largest first" },
  showAs: "Show as",
  list: "List",
  gallery: "Gallery",
  selectAll: "Select all",
  selected: "Selected",
  columns: { name: "Name", size: "Size", modified: "Changed" },
  kinds: { directory: "Folder", file: "File", symlink: "Link", other: "Special file" },
  atTheTop: "at the top",
  lacks: {
    list: "What is missing or was changing",
  },
  take: {
    items: (items: number) => `${count(items)} items`,
    share: (isFolder: boolean, unseen: Unseen): ComponentChildren => ["Share…", unseen(` ${whatOf(isFolder)} by a link`)],
    download: (isFile: boolean, isFolder: boolean, unseen: Unseen): ComponentChildren => [isFile ? "Download" : "Download zip", unseen(` of ${whatOf(isFolder)}`)],
    restore: (isFolder: boolean, unseen: Unseen): ComponentChildren => ["Restore to…", unseen(` a folder of this computer: ${whatOf(isFolder)}`)],
  },
  onto: {
    title: "Some of it is there already",
    has: (folder: ComponentChildren, first: ComponentChildren, more: number): ComponentChildren =>
      [folder, " already has ", first, `${more > 0 ? ` and ${count(more)} more of what you restore` : ""}.`],
    whatToDo: "What to do",
    options: {
      subfolder: { title: "Put it into a new folder", means: "Named by today’s date. Nothing that is there is touched." },
      both: { title: "Keep both", means: "A file that differs is added beside yours as “report (restored).pdf”." },
      leave: { title: "Add only what is missing", means: "Files that are there stay as they are." },
      replace: { title: "Replace", means: "Restored files take the place of yours, each once it is whole. This cannot be undone." },
    },
  },
  tray: {
    title: "Downloads and restores",
    done: (title: string) => `${title}: done`,
    running: (jobs: number, percent: string | null) => `${jobs} running${percent === null ? "" : `, ${percent}`}`,
    troubled: (jobs: number) => `${jobs} with trouble`,
    finished: (jobs: number) => `${jobs} finished`,
    stopped: "Stopped.",
    verified: (files: number, bytes: string, took?: string) => `${counted(files, "file")}, ${bytes}${took ? `, in ${took}` : ""}. Every byte was verified.`,
    clear: (unseen: Unseen): ComponentChildren => ["Clear", unseen(" what has finished")],
    resume: (title: string) => `Resume ${title}`,
    pause: (title: string) => `Pause ${title}`,
    stop: (title: string) => `Stop ${title}`,
    dismiss: (title: string) => `Dismiss ${title}`,
    paused: "Paused",
    progress: (done: string, bytes: string, read: number, files: number) => `${done} of ${bytes}, ${count(read)} of ${counted(files, "file")}`,
    nothingWritten: "Nothing was written.",
    kept: (entries: number) =>
      `${entries === 1 ? "1 file or folder of that name was there already, and stays as it was." : `${count(entries)} files or folders of that name were there already, and stay as they were.`} Restore again to keep both, or to replace them.`,
    damaged: (files: number) => `${counted(files, "file")} damaged, and not handed over`,
    damagedFiles: "Damaged files",
    damagedAdvice: (command: ComponentChildren): ComponentChildren =>
      ["An earlier snapshot may have them whole. Once ", command, " has found the damage, the next backup of the same folder mends what it still has."],
    notWritten: (entries: number) => `${counted(entries, "entry", "entries")} not written`,
    notWrittenList: "Not written",
  },
});
