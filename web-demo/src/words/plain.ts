/** Plain words for what the core names with a code. */

import type { BackupProgress, Change, Folder, LeftOut, MissingFeature, RestoreResult } from "../core/api";
import { words } from "./language";
import { count, counted } from "./numbers";

export const plain = words("plain", {
  missing: {
    "secure-context": "a secure connection: the address must begin with https:// (or be this machine's own)",
    webassembly: "WebAssembly, which runs the backup engine",
    "wasm-simd": "the vector instructions of WebAssembly",
    workers: "background workers",
    webcrypto: "the browser's encryption",
    "private-storage": "private storage; a private window may be the reason",
  } satisfies Record<MissingFeature, string>,
  blind: {
    "odd-names": "unusual names",
    "names-not-text": "names that are not text",
    "empty-folders": "empty folders",
    links: "links",
    permissions: "permissions",
  } satisfies Record<Folder["blindTo"][number], string>,
  /** "a, b" and "c". */
  and: (most: string, last: string) => `${most} and ${last}`,
  files: (files: number) => counted(files, "file"),
  starting: "Starting",
  phases: {
    preparing: "Comparing with what is stored",
    scanning: "Looking through the folder",
    uploading: "Backing up",
    finishing: "Storing the last part",
    verifying: "Waiting to be verified",
  } satisfies Record<BackupProgress["phase"], string>,
  stages: {
    read: "Reading",
    hash: "Cutting and naming",
    compress: "Compressing",
    seal: "Encrypting",
    upload: "Uploading",
  } satisfies Record<keyof BackupProgress["stages"], string>,
  leftOut: {
    excluded: "left out as you asked",
    unreadable: "could not be read",
    changing: "kept changing while it was read",
    "bad-name": "has a name that cannot be restored",
  } satisfies Record<LeftOut["examples"][number]["why"], string>,
  /** By the browser's name of what went wrong. */
  reasons: {
    NotFoundError: "it is not there any more",
    NotReadableError: "it was changed after it was chosen, or something holds it; choose the folder again to save it",
    NotAllowedError: "the browser may not open it",
    TypeMismatchError: "it is neither a file nor a folder",
    NameIsNotText: "a file or folder in here has a name that is not text (UTF-8). This browser does not hand it out; the copal command saves it",
  },
  // Parts of a list.
  unreadable: (files: number) => `${counted(files, "file")} could not be read`,
  unreadableThen: (files: number) => `${counted(files, "file")} could not be read for this backup`,
  changing: (files: number) => `${counted(files, "file")} kept changing and ${files === 1 ? "was" : "were"} saved as last read`,
  badNames: (names: number) => `${counted(names, "name")} cannot be restored anywhere`,
  excluded: (several: number) => `${count(several)} left out by your patterns`,
  skipped: {
    exists: "something of that name is there already",
    link: "links cannot be written by a browser",
    special: "is no file or folder",
    "bad-name": "has a name that is not safe to write on every computer",
  } satisfies Record<RestoreResult["skipped"][number]["why"], string>,
  changes: {
    added: "Added",
    removed: "Removed",
    changed: "Changed",
    metadata: "Details only",
  } satisfies Record<Change["kind"], string>,
});
