/** Tracing: the versions of one file over the snapshots, and what each of them changed. */

import { signal } from "@preact/signals";
import type { Core, EntryId, Problem, Version, Versions } from "../core/api";
import { Following } from "./following";
import { size, when, within } from "./words";

export interface Traced extends Versions {
  running: boolean;
  problem: Problem | null;
}

export class Tracing {
  readonly traced = signal<Traced>(NOTHING);
  readonly #core: Core;
  readonly #following = new Following<Versions, Versions>();

  constructor(core: Core) {
    this.#core = core;
  }

  async open(snapshot: string, entry: EntryId, isWide: boolean): Promise<void> {
    this.traced.value = { ...NOTHING, running: true };
    await this.#following.follow(() => this.#core.versions(snapshot, entry, isWide), {
      progress: (found) => { this.traced.value = { ...found, running: true, problem: null }; },
      done: (found) => { this.traced.value = { ...found, running: false, problem: null }; },
      failed: (problem) => { this.traced.value = { ...this.traced.value, running: false, problem }; },
    });
  }

  forget(): void {
    this.#following.stop();
    this.traced.value = NOTHING;
  }
}

/** The version of the same series that was there before one, whatever came between. */
export function versionBefore(version: Version, versions: readonly Version[]): Version | null {
  return versions.slice(versions.indexOf(version) + 1).find(({ series, entry }) => series === version.series && entry !== null) ?? null;
}

/** Says what a version changed. `isWhole`: all snapshots were looked into, so that nothing older can come. */
export function changeOf(version: Version, versions: readonly Version[], now: number, isWhole = true): string {
  const { entry, content, series } = version;
  if (version.problem) return "Cannot be read";
  if (!entry) return "Not there";
  const older = versions.slice(versions.indexOf(version) + 1).filter((one) => one.series === series);
  const before = older.find((one) => one.entry !== null);
  if (!before?.entry) return !isWhole ? "" : older.length > 0 ? "Oldest version that can be read" : "First version";
  const back = older[0]?.entry === null && older[0].problem === null ? "Came back: " : "";
  const small = (words: string) => (back === "" ? words : `${back}${words.charAt(0).toLowerCase()}${words.slice(1)}`);
  if (before.entry.kind !== entry.kind) return small(`Became a ${entry.kind === "file" ? "file" : entry.kind === "directory" ? "folder" : entry.kind === "symlink" ? "link" : "special file"}`);
  if (before.content === content) return small(before.entry.modified === entry.modified ? "The same as before" : "Only its time changed");
  const same = older.find((one) => one.content === content);
  if (same?.entry) return small(`The same content as ${same.entry.modified === null ? "an older version" : within(when(same.entry.modified, now))}`);
  const more = entry.size - before.entry.size;
  return small(more === 0 ? "Content changed" : more > 0 ? `Grew by ${size(more)}` : `Shrank by ${size(-more)}`);
}

const NOTHING: Traced = { versions: [], looked: 0, total: 0, running: false, problem: null };
