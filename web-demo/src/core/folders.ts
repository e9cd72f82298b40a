//! Folders: what a person has chosen, on the page's side, where pickers, inputs and drops are.

import type { Folder } from "./api";
import { failure } from "./problem";
import { type Files, type Listed, columnsOf, fileOf, filesOf, filesOfInput, handOut } from "./source/list";
import { childrenOf, isShownWhole } from "./source/shown";
import { NOT_TEXT, type Origin, type Unreadable } from "./source/tree";

/** What was chosen, under the number by which the display names it. */
export interface Chosen {
  folder: Folder;
  origin: Extract<Origin, { via: "handle" }> | { via: "list"; name: string; tops: string[]; files: Files; unreadable: Unreadable[] };
}

/** What is sent to the coordinator of it, what of that is handed over, and how to end what that needs here. */
export async function sendable({ origin }: Chosen): Promise<{ origin: Origin; handed: Transferable[]; end: () => void }> {
  if (origin.via === "handle") return { origin, handed: [], end: () => {} };
  const { name, tops, files, unreadable } = origin;
  const columns = await columnsOf(files);
  const { port1: here, port2: port } = new MessageChannel();
  handOut(files, here);
  const handed = [port, columns.ends.buffer, columns.sizes.buffer, columns.times.buffer];
  return { origin: { via: "list", name, tops, columns, port, unreadable }, handed, end: () => here.close() };
}

/** Asks for a directory; null if the person has changed their mind. */
export async function pick(): Promise<Chosen | null> {
  try {
    return ofHandle(await showDirectoryPicker({ id: "copal-backup", mode: "read" }), "picker");
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return null;
    throw failure("folder-permission");
  }
}

/** From a directory input, or one for files. */
export function ofInput(files: FileList): Chosen {
  const chosen = ofList(filesOfInput(files), "input");
  const isFolder = files[0]!.webkitRelativePath !== "";
  // Chromium leaves files with such names out of the list, and does not say so.
  if (isFolder && NAMES_ARE_BYTES.test(navigator.userAgent)) chosen.folder.blindTo.unshift("names-not-text");
  return chosen;
}

/** From a drop. Everything is asked for before the first wait, since the browser empties the event afterwards. */
export function ofDrop(dropped: DataTransfer): Promise<Chosen> {
  const items = Array.from(dropped.items).filter((item) => item.kind === "file");
  const handles = items.map((item) => item.getAsFileSystemHandle?.() ?? null);
  const entries = items.map((item) => item.webkitGetAsEntry());
  const files = items.map((item) => item.getAsFile());
  return take(handles, entries, files);
}

async function take(handles: (Promise<FileSystemHandle | null> | null)[], entries: (FileSystemEntry | null)[], files: (File | null)[]): Promise<Chosen> {
  const [first] = handles;
  if (handles.length === 1 && first) {
    const handle = await first.catch(() => null);
    if (handle?.kind === "directory") {
      const [entry] = entries;
      if (!entry?.isDirectory) return ofHandle(handle as FileSystemDirectoryHandle, "drop");
      const isWhole = await isShownWhole(handle as FileSystemDirectoryHandle, entry as FileSystemDirectoryEntry);
      if (isWhole) return ofHandle(handle as FileSystemDirectoryHandle, "drop", ["links", "permissions"]);
    }
  }
  const [listed, unreadable]: [Listed[], Unreadable[]] = [[], []];
  for (let at = 0; at < entries.length; at++) {
    const [entry, file] = [entries[at], files[at]];
    if (entry) await gather(entry, listed, unreadable);
    else if (file) listed.push({ path: file.name, file });
  }
  return ofList(filesOf(listed), "drop", unreadable);
}

function ofHandle(handle: FileSystemDirectoryHandle, via: Folder["via"], blindTo = BLIND_HANDLE): Chosen {
  const id = crypto.randomUUID();
  return {
    folder: { id, name: handle.name, label: handle.name, via, canRemember: true, files: null, bytes: null, blindTo },
    origin: { via: "handle", name: handle.name, handle },
  };
}

function ofList(files: Files, via: Folder["via"], unreadable: Unreadable[] = []): Chosen {
  if (files.length === 0) throw failure("nothing-to-back-up");
  const names = new Set<string>();
  let bytes = 0;
  let isOfFolders = true;
  for (let number = 0; number < files.length; number++) {
    const { path, file } = files.at(number);
    names.add(path.split("/", 1)[0]!);
    isOfFolders &&= path.includes("/");
    bytes += file.size;
  }
  const tops = [...names];
  const name = tops.length === 1 ? tops[0]! : `${tops[0]} and ${tops.length - 1} more`;
  const label = isOfFolders ? name : CHOSEN_FILES;
  return {
    folder: { id: crypto.randomUUID(), name, label, isFiles: !isOfFolders, via, canRemember: false, files: files.length, bytes, blindTo: ["empty-folders", "links", "permissions"] },
    // Which files it was this time does not tell one series from another: next time it is others.
    origin: { via: "list", name, tops: isOfFolders ? tops : [], files, unreadable },
  };
}

/** Everything below a dropped entry. What the browser does not hand out is named, and the rest is taken. */
async function gather(entry: FileSystemEntry, listed: Listed[], unreadable: Unreadable[]): Promise<void> {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.name === "") {
    // Chromium lists the folder around it as the content of such a folder: a walk would never end.
    unreadable.push({ path, reason: NOT_TEXT });
    return;
  }
  const failed = (error: unknown) => void unreadable.push({ path, reason: error instanceof Error ? error.name : "unknown" });
  if (entry.isFile) {
    const leaf = entry as FileSystemFileEntry;
    await fileOf(leaf).then((file) => listed.push({ path, file, entry: leaf }), failed);
    return;
  }
  const children = await childrenOf(entry as FileSystemDirectoryEntry).catch(failed);
  const [files, others] = [children?.filter(({ isFile }) => isFile) ?? [], children?.filter(({ isFile }) => !isFile) ?? []];
  for (let at = 0; at < files.length; at += AT_ONCE) {
    await Promise.all(files.slice(at, at + AT_ONCE).map((child) => gather(child, listed, unreadable)));
  }
  for (const child of others) await gather(child, listed, unreadable);
}

/** What backups of files are called that were chosen one by one. */
const CHOSEN_FILES = "Chosen files";
/** Files asked for at once. */
const AT_ONCE = 64;
/** Systems on which a name is bytes, and need not be text. */
const NAMES_ARE_BYTES = /Linux|Android|CrOS/;
/** What a handle does not show, or may not. */
export const BLIND_HANDLE: Folder["blindTo"] = ["odd-names", "links", "permissions"];

declare global {
  function showDirectoryPicker(options?: { id?: string; mode?: "read" | "readwrite"; startIn?: string }): Promise<FileSystemDirectoryHandle>;
  function showSaveFilePicker(options?: { id?: string; suggestedName?: string; startIn?: string }): Promise<FileSystemFileHandle>;
  interface DataTransferItem {
    getAsFileSystemHandle?(): Promise<FileSystemHandle | null>;
  }
  interface FileSystemHandle {
    queryPermission(options?: { mode?: "read" | "readwrite" }): Promise<PermissionState>;
    requestPermission(options?: { mode?: "read" | "readwrite" }): Promise<PermissionState>;
  }
}
