//! Seek: a search in many snapshots at once, by name, kind, time and size.

import type { Entry, FileKind, Hit, Seek, SeekProgress, SeekResult } from "../api";
import type { Control } from "../coordinator/control";
import { Sweep, type Wants } from "../engine";
import type { Books } from "./books";
import { damageOf, entryOf } from "./shown";
import { entryKind, namedLike, nameIn } from "./names";

/** Looks through the snapshots of a series, or through all, the newest first. */
export async function seek(books: Books, asked: Seek, control: Control, tell: (progress: SeekProgress) => void): Promise<SeekResult> {
  const chosen = (await books.known()).filter(({ series }) => asked.series === null || series === asked.series);
  const isWanted = wanting(asked);
  const paths = new Set<string>();
  /** By what a path has in one snapshot or another: a page that several series share is told by these numbers alone. */
  const numbers = new Map<string, number>();
  const entries: Entry[] = [];
  const hits = new Map<string, Hit>();
  const damaged = new Set<string>();
  let [looked, more] = [0, false];
  const wants: Wants = (id, mode, size, modified) => {
    if (!isWanted(id, mode, size, modified)) return null;
    if (!paths.has(id) && paths.size >= HITS) {
      more = true;
      return null;
    }
    paths.add(id);
    const version = `${mode} ${size} ${modified} ${id}`;
    const number = numbers.get(version) ?? numbers.size;
    numbers.set(version, number);
    return number;
  };
  const progress = (): SeekProgress => ({ hits: [...hits.values()], looked, total: chosen.length });
  await books.sweep(chosen.map(({ id }) => id), () => Sweep.below(""), wants, control, (part) => {
    const snapshot = chosen[part.tree]!;
    const put = (entry: Entry) => {
      const key = `${snapshot.series} ${entry.id}`;
      const hit = hits.get(key);
      if (hit) hits.set(key, { ...hit, oldest: snapshot.id, count: hit.count + 1 });
      else hits.set(key, { entry, newest: snapshot.id, oldest: snapshot.id, count: 1 });
    };
    for (const { number, ...facts } of part.found) put((entries[number] ??= entryOf(facts)));
    for (const number of part.again) put(entries[number]!);
    part.damaged.forEach((what) => damaged.add(what));
    looked = part.isDone ? chosen.length : part.tree;
    tell(progress());
    return true;
  });
  return { ...progress(), more, damage: damageOf(damaged) };
}

/** Tells whether an entry is what is asked for. */
export function wanting(asked: Seek): (...entry: Parameters<Wants>) => boolean {
  const { kind, modifiedFrom, modifiedTo, sizeFrom } = asked;
  const isNamed = namedLike(asked.name);
  return (id, mode, size, modified) => {
    const type = entryKind(mode);
    if (sizeFrom !== null && (type !== "file" || size < sizeFrom)) return false;
    // Without a time nobody can say that it lies between others.
    if ((modifiedFrom !== null || modifiedTo !== null) && modified === 0) return false;
    if (modifiedFrom !== null && modified < modifiedFrom) return false;
    if (modifiedTo !== null && modified > modifiedTo) return false;
    const name = nameIn(id);
    if (kind !== null && kind !== (type === "directory" ? "folder" : type === "file" ? fileKind(name) : "other")) return false;
    return isNamed(name);
  };
}

/** The kind of a file by its name. */
export function fileKind(name: string): FileKind {
  return KINDS.get(/.\.([^.]*)$/.exec(name)?.[1]?.toLowerCase() ?? "") ?? "other";
}

const EXTENSIONS: Partial<Record<FileKind, string>> = {
  picture: "3fr arw avif bmp cr2 cr3 dng gif heic heif ico jfif jpe jpeg jpg jxl nef orf pef png psd raf raw rw2 svg tif tiff webp xcf",
  document: "csv doc docm docx dot dotx epub fodt htm html key md mobi numbers odf odg odp ods odt pages pdf pot potx pps ppsx ppt pptx ps rst rtf tex tsv txt wpd xls xlsm xlsx xps",
  video: "3gp avi flv m2ts m4v mkv mov mp4 mpeg mpg mts ogv ts vob webm wmv",
  audio: "aac aif aiff alac amr ape flac m4a m4b mid midi mka mp3 oga ogg opus wav wma",
  archive: "7z ar bz2 cab cpio deb dmg gz iso jar lz lz4 lzma rar rpm tar tbz2 tgz txz xz z zip zst",
};
const KINDS = new Map(Object.entries(EXTENSIONS).flatMap(([kind, names]) => names.split(" ").map((name) => [name, kind as FileKind] as const)));

/** Paths that are told at most. */
const HITS = 1_000;
