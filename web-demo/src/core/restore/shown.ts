//! Shown: what the engine tells of snapshots, entries and damage, as the display is told.

import type { Entry, Problem, Snapshot } from "../api";
import type { EntryFacts, SnapshotFacts } from "../engine";
import { problem } from "../problem";

/** A snapshot of the engine's list. */
export function snapshotOf(facts: SnapshotFacts): Snapshot {
  const source = facts.label || [facts.host, facts.paths.map((path) => `/${path}`.replace(/^\/+/, "/")).join(", ")].filter(Boolean).join(":");
  const device = facts.clientName ?? facts.client.slice(0, 8);
  return {
    id: facts.id, time: facts.time, source, series: `${facts.client}/${facts.source}`, tags: [...facts.tags].sort(),
    device: facts.role === "full" ? device : `${device} (write-only)`,
    files: facts.files, directories: facts.directories, bytes: facts.bytes, newBytes: null, storedBytes: null,
    // Only what was accepted is in the state, and the state is what the library lists.
    receipt: "verified", verifiedBy: null, pinned: facts.pinned, forgotten: facts.forgotten, fromBrowser: !facts.hasModes,
    troubles: {
      unreadable: facts.errors, changing: facts.changing,
      names: [...facts.unreadablePaths.map((path) => ({ path, why: "unreadable" as const })), ...facts.changingPaths.map((path) => ({ path, why: "changing" as const }))],
    },
  };
}

/** Parts of a tree that cannot be read, each once. */
export function damageOf(what: Iterable<string>): Problem[] {
  return [...new Set(what)].map((part) => problem("damaged", part));
}

/** An entry of a tree. */
export function entryOf(facts: EntryFacts): Entry {
  const { id, name, path, kind, size, modified, target } = facts;
  return { id, name, path, kind, size, modified: modified === 0 ? null : modified, target: target ?? null, mode: letters(facts.mode) };
}

/** Permission bits as `ls` writes them. */
function letters(mode: number): string {
  return [6, 3, 0].map((at) => `${mode & (4 << at) ? "r" : "-"}${mode & (2 << at) ? "w" : "-"}${mode & (1 << at) ? "x" : "-"}`).join("");
}
