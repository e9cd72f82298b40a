/** Plain words for what the core names with a code. */

import type { BackupProgress, Change, Folder, LeftOut, MissingFeature, RestoreResult, Troubles } from "../core/api";
import { count, counted } from "./words";

export const MISSING: Record<MissingFeature, string> = {
  "secure-context": "a secure connection: the address must begin with https:// (or be this machine's own)",
  webassembly: "WebAssembly, which runs the backup engine",
  "wasm-simd": "the vector instructions of WebAssembly",
  workers: "background workers",
  webcrypto: "the browser's encryption",
  "private-storage": "private storage; a private window may be the reason",
};

export const BLIND: Record<Folder["blindTo"][number], string> = {
  "odd-names": "unusual names",
  "names-not-text": "names that are not text",
  "empty-folders": "empty folders",
  links: "links",
  permissions: "permissions",
};

export function blindness(blindTo: Folder["blindTo"]): string {
  return listed(blindTo.map((what) => BLIND[what]));
}

/** "a", "a and b", "a, b and c". */
export function listed(words: string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1] ?? ""}`;
}

export function phaseWords(progress: BackupProgress | null): string {
  if (!progress) return "Starting";
  switch (progress.phase) {
    case "preparing": return "Comparing with what is stored";
    case "scanning": return "Looking through the folder";
    case "uploading": return "Backing up";
    case "finishing": return "Storing the last part";
    case "verifying": return "Waiting to be verified";
  }
}

export const STAGES: Record<keyof BackupProgress["stages"], string> = {
  read: "Reading",
  hash: "Cutting and naming",
  compress: "Compressing",
  seal: "Encrypting",
  upload: "Uploading",
};

export const LEFT_OUT: Record<LeftOut["examples"][number]["why"], string> = {
  excluded: "left out as you asked",
  unreadable: "could not be read",
  changing: "kept changing while it was read",
  "bad-name": "has a name that cannot be restored",
};

/** Why a file was not read, where the browser has a name for it. */
export function reasonWords(detail: string): string {
  return REASONS.get(detail) ?? detail;
}

const REASONS = new Map([
  ["NotFoundError", "it is not there any more"],
  ["NotReadableError", "it was changed after it was chosen, or something holds it; choose the folder again to save it"],
  ["NotAllowedError", "the browser may not open it"],
  ["TypeMismatchError", "it is neither a file nor a folder"],
  ["NameIsNotText", "a file or folder in here has a name that is not text (UTF-8). This browser does not hand it out; the copal command saves it"],
]);

/** What was not saved although it should have been: what was left out on purpose is not among it. */
export function troubles(leftOut: LeftOut): number {
  return leftOut.unreadable + leftOut.changing + leftOut.badNames;
}

export function leftOutWords(leftOut: LeftOut): string {
  const parts: string[] = [];
  if (leftOut.unreadable > 0) parts.push(`${counted(leftOut.unreadable, "file")} could not be read`);
  if (leftOut.changing > 0) parts.push(`${counted(leftOut.changing, "file")} kept changing and ${leftOut.changing === 1 ? "was" : "were"} saved as last read`);
  if (leftOut.badNames > 0) parts.push(`${counted(leftOut.badNames, "name")} cannot be restored anywhere`);
  if (leftOut.excluded > 0) parts.push(`${count(leftOut.excluded)} left out by your patterns`);
  return parts.length === 0 ? "" : `${listed(parts)}.`;
}

/** What a snapshot lacks, and what is not of one moment in it. */
export function troubleWords({ unreadable, changing }: Troubles): string {
  const parts: string[] = [];
  if (unreadable > 0) parts.push(`${counted(unreadable, "file")} could not be read for this backup`);
  if (changing > 0) parts.push(`${counted(changing, "file")} kept changing and ${changing === 1 ? "was" : "were"} saved as last read`);
  return parts.join("; ");
}

export const SKIPPED: Record<RestoreResult["skipped"][number]["why"], string> = {
  exists: "something of that name is there already",
  link: "links cannot be written by a browser",
  special: "is no file or folder",
  "bad-name": "has a name that is not safe to write on every computer",
};

export const CHANGES: Record<Change["kind"], string> = {
  added: "Added",
  removed: "Removed",
  changed: "Changed",
  metadata: "Details only",
};
