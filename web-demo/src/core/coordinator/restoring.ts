//! Restoring: restores into the browser's downloads, a file or a folder. The coordinator loads it with the first of them.

import type { EntryId, RestoreProgress, RestoreResult } from "../api";
import type { Books } from "../restore/books";
import { baseOf } from "../restore/paths";
import { pickedPlace } from "../restore/place";
import { RestoreRun } from "../restore/run";
import { DirectoryTarget, type Existing, SingleTarget, ZipTarget } from "../restore/targets";
import type { Begun } from "./runs";
import type { Staging } from "./staging";

/** What a download came to; `file`: for the browser's downloads, if no place was picked. */
export interface Downloaded {
  result: RestoreResult;
  file: File | null;
  name: string;
}

/** `place`: what the person has picked; null: the browser's downloads. */
export async function download(books: Books, snapshot: string, entries: EntryId[], place: FileSystemFileHandle | null, isZip: boolean, name: string, staging: Staging): Promise<Begun<RestoreProgress, Downloaded>> {
  const going = new RestoreRun(books, snapshot, entries);
  const staged = place ? null : await staging.begin(name);
  const target = async () => {
    const file = place ? await pickedPlace(place) : await staged!.place();
    return isZip ? new ZipTarget(file, baseOf(entries), true) : new SingleTarget(file);
  };
  return {
    progress: () => going.progress(),
    work: async (steering) => {
      const result = await going.run(steering, target);
      return { result, file: staged ? await staged.finish() : null, name };
    },
  };
}

export function into(books: Books, snapshot: string, entries: EntryId[], place: FileSystemDirectoryHandle, existing: Existing): Begun<RestoreProgress, RestoreResult> {
  const going = new RestoreRun(books, snapshot, entries);
  const target = async () => new DirectoryTarget(place, baseOf(entries), existing);
  return { progress: () => going.progress(), work: (steering) => going.run(steering, target) };
}
