//! Snapshots: what the display is told of them, of what is in them, and of restoring it. Part of the interface in `api.ts`.

import type { Problem } from "./api";

/** Opaque: an entry's place in its snapshot. "" is the top. */
export type EntryId = string;

export interface SnapshotList {
  snapshots: Snapshot[];
  damage: Problem[];
}

export interface Snapshot {
  id: string;
  time: number;
  /** The name of the source as the person who made it called it (a host and its paths, or a label). */
  source: string;
  /** The series' id: what one client has saved of one source. Snapshots of one series compare well. */
  series: string;
  /** The client that signed it, by the name the owner has registered, and "(write-only)" if it is. */
  device: string;
  tags: string[];
  files: number;
  directories: number;
  bytes: number;
  /** Bytes new with this one, before and after compression, where it says so. */
  newBytes: number | null;
  storedBytes: number | null;
  receipt: "verified" | "waiting";
  verifiedBy: "service" | "client" | null;
  pinned: boolean;
  /** When somebody, or the policy, has forgotten it; null while it is kept. */
  forgotten: number | null;
  /** What its host could see: a browser sees neither modes nor links. */
  fromBrowser: boolean;
  troubles: Troubles;
}

/** What could not be read when a snapshot was made, and may be missing; what changed each time it was read, and is as it was read
 * last. */
export interface Troubles {
  unreadable: number;
  changing: number;
  /** The first of them. */
  names: { path: string; why: "unreadable" | "changing" }[];
}

/** What a person wants to be done to snapshots. It is signed, and counts for every device. */
export type Wish =
  /** "forget" leaves pinned ones out. */
  | { do: "forget" | "undelete" | "pin" | "unpin"; snapshots: string[] }
  | { do: "tag"; snapshots: string[]; add: string[]; remove: string[] };

/** What became of a wish. */
export interface Changed {
  /** "waiting": it is stored and counts, and the service has not taken it in yet. */
  state: "done" | "waiting";
  /** Snapshots to which it did not come: pinned by somebody meanwhile, or freed already. */
  unchanged: string[];
}

/** What the policy says about snapshots if they are forgotten. */
export interface Guard {
  /** Seconds that prune leaves what nothing needs any more; null without a policy. */
  grace: number | null;
  /** Their data stays all the same: a hold keeps their series, they are among the last of it, or too young. */
  stays: { id: string; by: "hold" | "last" | "young"; until: number | null }[];
}

export interface DirectoryPage {
  entries: Entry[];
  /** Hand back as `after`; null at the end. */
  next: string | null;
  /** Entries in the directory, where known without reading it all. */
  total: number | null;
  /** Parts of the tree that cannot be read: some entries may be missing here. */
  damage: Problem[];
}

export interface Entry {
  id: EntryId;
  name: string;
  path: string;
  kind: "file" | "directory" | "symlink" | "other";
  size: number;
  modified: number | null;
  /** Of a link: where it leads. */
  target: string | null;
  /** Such as "rw-r--r--"; null where the host could not see it. */
  mode: string | null;
}

export interface SearchProgress { hits: Entry[]; looked: number }
/** `damage`: parts of the tree that could not be looked through. */
export interface SearchResult { hits: Entry[]; looked: number; more: boolean; damage: Problem[] }

/** The history of an entry: its versions, newest first. Of `total` snapshots `looked` were looked into so far. */
export interface Versions { versions: Version[]; looked: number; total: number }

/** An entry as it was in some snapshots of one series that follow each other. */
export interface Version {
  series: string;
  /** As the newest of them has it; null if it was not there, or if nobody can say. */
  entry: Entry | null;
  /** Versions with the same number have the same content. */
  content: number | null;
  /** The newest and the oldest of the snapshots, and how many there are. */
  newest: string;
  oldest: string;
  count: number;
  /** When one of them was made, some files could not be read. */
  incomplete: boolean;
  /** Why nobody can say what was there. */
  problem: Problem | null;
}

export type FileKind = "folder" | "picture" | "document" | "video" | "audio" | "archive" | "other";

/** What is searched for in many snapshots. */
export interface Seek {
  /** A part of the name, or a pattern with * and ?; "" is every name. */
  name: string;
  /** By the name's ending. */
  kind: FileKind | null;
  /** The last change of the entry. Both ends count. */
  modifiedFrom: number | null;
  modifiedTo: number | null;
  /** Bytes at least. */
  sizeFrom: number | null;
  /** The snapshots of this series; null: of all. */
  series: string | null;
}

/** A path that is found in snapshots of one series. */
export interface Hit {
  /** As the newest of them has it. */
  entry: Entry;
  newest: string;
  oldest: string;
  count: number;
}

/** Of `total` snapshots `looked` were looked through so far. */
export interface SeekProgress { hits: Hit[]; looked: number; total: number }
/** `more`: there are hits beyond those told. `damage`: parts of the trees that could not be looked through. */
export interface SeekResult extends SeekProgress { more: boolean; damage: Problem[] }

export interface Preview {
  /** Of a picture all, or none if it is too large to be shown; of anything else the beginning. */
  bytes: Uint8Array;
  total: number;
  /** By the bytes, never by the name. */
  kind: "text" | "image" | "audio" | "video" | "pdf" | "binary";
  /** Of an image: a type that is safe in <img> (png, jpeg, gif, webp, avif, bmp); svg is text. Of a sound or film: what a player is
   * told that it is. */
  mediaType: string | null;
  /** Of an image, where its header says so. */
  pixels?: { width: number; height: number } | null;
}

/** A small picture that was drawn anew from a picture, or why there is none. */
export type Thumbnail = { picture: Blob } | { why: "no-picture" | "too-large" | "damaged" | "broken" };

/** A file that a player of this page may read. */
export interface Stream {
  /** For <audio> and <video> of this page; nobody else gets anything under it. */
  address: string;
  /** Says why bytes could not be had. Returns what ends it. */
  onProblem(listener: (problem: Problem) => void): () => void;
  /** Nothing is read under its address any more. */
  end(): void;
}

export interface ComparePage { changes: Change[]; next: string | null }
export interface Change {
  path: string;
  kind: "added" | "removed" | "changed" | "metadata";
  before: Entry | null;
  after: Entry | null;
}

/** `damage`: parts of the tree that could not be counted. */
export interface Measure { files: number; directories: number; bytes: number; leftOut: number; damage: Problem[] }

export interface DownloadOptions {
  /** Ask where to save and stream there; else the browser's downloads (staged in private storage first). */
  askWhere: boolean;
}

/** What a restore into a folder does where something of a name is there already: everything goes into a folder of its own
 * ("subfolder"), files get names beside those that are there ("both"), take their places ("replace"), or are left out ("leave"). */
export type OntoExisting = "subfolder" | "both" | "replace" | "leave";

/** What a picked folder has of what is to be restored into it. */
export interface Found {
  /** The folder's name. */
  folder: string;
  /** What is at the top of what is restored, and there already. */
  names: string[];
}

export interface RestoreProgress {
  state: "running" | "paused" | "offline" | "retrying";
  problem: Problem | null;
  retryAt: number | null;
  files: { done: number; total: number };
  bytes: { done: number; total: number };
  fetchedBytes: number;
  rate: number;
  eta: number | null;
  currentFile: string | null;
  damaged: number;
}

export interface RestoreResult {
  files: number;
  bytes: number;
  seconds: number;
  /** Files that could not be restored whole; nothing of them was handed over. */
  damaged: { path: string; problem: Problem }[];
  /** Not written because something of that name was there (restoreInto), or the target cannot hold such an entry. */
  skipped: { path: string; why: "exists" | "link" | "special" | "bad-name" }[];
}
