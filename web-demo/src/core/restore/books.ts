//! Books: the library of an unlocked repository: snapshots, and what is in them.

import type { ComparePage, Decision, DirectoryPage, Entry, EntryId, Measure, SearchProgress, SearchResult, Snapshot, SnapshotList, Wish } from "../api";
import { type Changes, type Client, type Comparison, type Library, type Link, type SnapshotFacts, Sweep, type Swept, type Tree, type View, type Wants } from "../engine";
import { ENDLESS, type Patience } from "../gateway/retry";
import { brief } from "../gateway/client";
import { failure, problem } from "../problem";
import type { Opened } from "../coordinator/opened";
import { Control } from "../coordinator/control";
import { type Part, readParts } from "../look/parts";
import { nameTags, readLibrary, supplyClients } from "./library";
import { entryKind, namedLike, nameIn, pathIn } from "./names";
import { asFileName, baseOf, below } from "./paths";
import { Shelf } from "./shelf";
import { damageOf, entryOf, snapshotOf } from "./shown";

/** What can be looked at. One at a time: the engine answers one question after another. */
export class Books {
  /** The newest one, which all questions are asked of. */
  #shelf: Shelf | null = null;
  /** By how many runs a shelf is used. One that a newer one has replaced goes with the last of them. */
  #lent = new Map<Shelf, number>();
  /** The one that is told page by page, on the shelf that it has begun with: a list that is read anew meanwhile does not end it. */
  #comparison: { key: string; comparison: Comparison; cursor: string; shelf: Shelf } | null = null;
  /** Changes that name tags; of all others nothing is kept. */
  #changes = new Map<string, Uint8Array>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly opened: Opened) {}

  /** The list anew, from manifests whose signatures count. */
  snapshots(): Promise<SnapshotList> {
    return this.#inTurn(async () => {
      this.#forget();
      const { facts, library } = await this.#open();
      const damage = library.problems().map(({ key, code }) => problem(code === "too-long" ? "descriptions-too-long" : "damaged", key));
      return { snapshots: [...facts.values()].map(snapshotOf), damage };
    });
  }

  /** Forgotten ones that are still there. Read by a library of its own: what is looked at meanwhile stays open. */
  forgotten(): Promise<SnapshotList> {
    return this.#apart(true, async (library) => {
      const found = library.snapshots().filter(({ forgotten }) => forgotten !== null);
      return { snapshots: found.map(snapshotOf), damage: [] };
    });
  }

  /** Kept and forgotten ones, and the number of the root that names them. */
  everything(): Promise<{ facts: SnapshotFacts[]; root: number | undefined }> {
    return this.#apart(true, async (library, view) => ({ facts: library.snapshots(), root: view.root?.number }));
  }

  /** The ids of tags with these names, in the data of each device; with `all`, also of those that changes name. */
  tagIds(names: string[], all = false): Promise<{ names: string[]; domains: string[][] }> {
    return this.#apart(false, async (library) => {
      await supplyClients(this.opened, library);
      if (all) await nameTags(this.opened, library, this.#changes);
      names = [...new Set([...names, ...(all ? library.tagNames() : [])])];
      return { names, domains: library.tagIds(names) };
    });
  }

  /** Makes the changes of a wish, of snapshots whose manifests count in the newest state, or of a decision; null if nothing is to be
   * changed. */
  changes(client: Client, met: Link | null, wish: Wish | Decision): Promise<Changes | null> {
    return this.#apart("do" in wish && wish.do === "undelete", async (library) => {
      if (!("do" in wish)) {
        if (wish.tags.length > 0) await supplyClients(this.opened, library);
        return library.decide(client, met, wish.policy, wish.tags, wish.release) ?? null;
      }
      const changes = wish.do === "tag" ? library.tag(client, met, wish.snapshots, wish.add, wish.remove) : library.mark(client, met, wish.do, wish.snapshots);
      return changes ?? null;
    });
  }

  directory(snapshot: string, directory: EntryId, after: string | null, limit: number): Promise<DirectoryPage> {
    return this.#inTurn(async () => {
      const [tree, shelf] = await this.#tree(snapshot);
      const entries: Entry[] = [];
      const damaged = new Set<string>();
      let left = Math.min(Math.max(limit, 1), PAGE);
      // The engine hands over what it has found before it reads more.
      do {
        const part = await shelf.answer(() => tree.list(directory, after, left));
        entries.push(...part.entries.map(entryOf));
        part.damaged.forEach((what) => damaged.add(what));
        after = part.next ?? null;
        left -= part.entries.length;
      } while (after !== null && left > 0);
      return { entries, next: after, total: null, damage: damageOf(damaged) };
    });
  }

  /** Looks through a tree below a directory. */
  async search(snapshot: string, directory: EntryId, text: string, control: Control, tell: (progress: SearchProgress) => void): Promise<SearchResult> {
    const hits: Entry[] = [];
    const damaged = new Set<string>();
    const isNamed = namedLike(text);
    let looked = 0;
    let more = false;
    const wants: Wants = (id) => {
      looked += 1;
      return isNamed(nameIn(id)) ? 0 : null;
    };
    await this.sweep([snapshot], () => Sweep.below(directory), wants, control, (part) => {
      hits.push(...part.found.map(entryOf));
      part.damaged.forEach((what) => damaged.add(what));
      more = hits.length > HITS;
      hits.length = Math.min(hits.length, HITS);
      tell({ hits: [...hits], looked });
      return !more;
    });
    return { hits, looked, more, damage: damageOf(damaged) };
  }

  /** Goes through the trees of snapshots, part by part, for as long as `take` says so; other questions are answered in between. */
  async sweep(snapshots: string[], begin: () => Sweep, wants: Wants | null, control: Control, take: (part: Swept) => boolean): Promise<void> {
    const shelf = await this.#lend();
    let sweep: Sweep | null = null;
    const next = () => this.#inTurn(async () => {
      if (!sweep) {
        sweep = begin();
        for (const snapshot of snapshots) sweep.add(await shelf.tree(snapshot));
      }
      const part = sweep.next(wants);
      if (part.needs.length > 0) await shelf.supply(part.needs, brief(control.signal));
      return part;
    });
    try {
      for (let goesOn = true; goesOn; ) {
        await control.gate();
        if (control.isCancelled) throw failure("cancelled");
        const part = await next();
        goesOn = take(part) && !part.isDone;
      }
    } finally {
      (sweep as Sweep | null)?.free();
      this.#giveBack(shelf);
    }
  }

  /** The snapshots of the last list, newest first. */
  known(): Promise<Snapshot[]> {
    return this.#inTurn(async () => [...(await this.#open()).facts.values()].map(snapshotOf));
  }

  /** Bytes of a file, verified. */
  async part(snapshot: string, file: EntryId, start: number, end: number): Promise<Part> {
    const part = (await this.parts(snapshot, [file], start, end)).get(file);
    if (!part) throw failure("entry-gone");
    if (part.isDamaged) throw failure("damaged", part.entry.path);
    return part;
  }

  /** Bytes of files, verified but for those that are damaged. */
  parts(snapshot: string, files: EntryId[], start: number, end: number): Promise<Map<EntryId, Part>> {
    return this.#inTurn(async () => {
      if (!(start >= 0) || !((end - start) * files.length <= PARTS_MOST)) throw failure("internal", "part");
      const [tree, shelf] = await this.#tree(snapshot);
      for (const file of files) {
        const { entries, damaged } = await shelf.answer(() => tree.entry(file));
        // Where it would be, the tree cannot be read: it may be there all the same.
        if (!entries[0]) throw damaged.length > 0 ? failure("damaged", damaged[0]) : failure("entry-gone");
        if (entries[0].kind !== "file") throw failure("entry-gone");
      }
      return readParts(shelf, tree, files, start, end, brief());
    });
  }

  compare(before: string, after: string, cursor: string | null, limit: number): Promise<ComparePage> {
    return this.#inTurn(async () => {
      const key = `${before} ${after}`;
      if (cursor === null || this.#comparison?.key !== key || this.#comparison.cursor !== cursor) {
        if (cursor !== null) throw failure("snapshot-gone");
        this.#endComparison();
        const [[first, shelf], [second]] = [await this.#tree(before), await this.#tree(after)];
        this.#comparison = { key, comparison: second.compareWith(first), cursor: "", shelf: this.#take(shelf) };
      }
      const { comparison, shelf } = this.#comparison!;
      const page = await shelf.answer(() => comparison.next(limit));
      const next = page.isDone ? null : crypto.randomUUID();
      if (next) this.#comparison!.cursor = next;
      else this.#endComparison();
      const changes = page.changes.map(({ path, before, after, isMetadata }) => {
        const kind = !before ? "added" : !after ? "removed" : isMetadata ? "metadata" : "changed";
        return { path, kind: kind as "added" | "removed" | "metadata" | "changed", before: before ? entryOf(before) : null, after: after ? entryOf(after) : null };
      });
      return { changes, next };
    });
  }

  /** Counts what is below some entries. */
  async measure(snapshot: string, entries: EntryId[], control = new Control()): Promise<Measure> {
    const sum = { files: 0, directories: 0, bytes: 0, leftOut: 0 };
    const damaged = new Set<string>();
    const count: Wants = (_id, mode, size) => {
      const kind = entryKind(mode);
      if (kind === "file") [sum.files, sum.bytes] = [sum.files + 1, sum.bytes + size];
      else if (kind === "directory") sum.directories += 1;
      else if (kind === "other") sum.leftOut += 1;
      return null;
    };
    for (const id of entries) {
      const take = (part: Swept) => {
        part.damaged.forEach((what) => damaged.add(what));
        return true;
      };
      // A folder may have no entry of its own.
      let isFolder = true;
      const itself: Wants = (one, mode, size, modified) => {
        isFolder = entryKind(mode) === "directory";
        return count(one, mode, size, modified);
      };
      if (id !== "") await this.sweep([snapshot], () => Sweep.at(id), itself, control, take);
      if (isFolder) await this.sweep([snapshot], () => Sweep.below(id), count, control, take);
    }
    return { ...sum, damage: damageOf(damaged) };
  }

  /** What a download of some entries is called: a file by its own name, all else a zip. */
  naming(snapshot: string, entries: EntryId[]): Promise<{ name: string; isZip: boolean }> {
    return this.#inTurn(async () => {
      const [tree, shelf] = await this.#tree(snapshot);
      const only = entries.length === 1 ? entries[0]! : "";
      const found = only === "" ? undefined : (await shelf.answer(() => tree.entry(only))).entries[0];
      if (found?.kind === "file") return { name: asFileName(found.name), isZip: false };
      const facts = shelf.facts.get(snapshot)!;
      const name = nameIn(only) || facts.label || facts.paths.at(-1)?.split("/").at(-1) || "snapshot";
      return { name: `${asFileName(name)}.zip`, isZip: true };
    });
  }

  /** The names at the top of what a restore of some entries writes. */
  async tops(snapshot: string, entries: EntryId[]): Promise<string[]> {
    if (entries.includes("")) return (await this.directory(snapshot, "", null, PAGE)).entries.map(({ name }) => name);
    const base = baseOf(entries);
    return [...new Set(entries.map((id) => below(base, pathIn(id)).split("/")[0]!))];
  }

  /** Lends a tree and its shelf for as long as the work takes, whatever is listed meanwhile. */
  async withTree<T>(snapshot: string, work: (tree: Tree, shelf: Shelf) => Promise<T>): Promise<T> {
    const shelf = await this.#lend();
    try {
      return await work(await this.#inTurn(() => shelf.tree(snapshot)), shelf);
    } finally {
      this.#giveBack(shelf);
    }
  }

  free(): void {
    this.#endComparison();
    this.#forget();
    for (const shelf of this.#lent.keys()) shelf.free();
    this.#lent.clear();
  }

  #lend(): Promise<Shelf> {
    return this.#inTurn(async () => this.#take(await this.#open()));
  }

  /** Notes that a shelf is lent. */
  #take(shelf: Shelf): Shelf {
    this.#lent.set(shelf, (this.#lent.get(shelf) ?? 0) + 1);
    return shelf;
  }

  #giveBack(shelf: Shelf): void {
    const left = (this.#lent.get(shelf) ?? 0) - 1;
    if (left > 0) this.#lent.set(shelf, left);
    // One that the end of the session has freed is not lent any more.
    else if (this.#lent.delete(shelf) && shelf !== this.#shelf) shelf.free();
  }

  async #open(): Promise<Shelf> {
    return (this.#shelf ??= await Shelf.open(this.opened, this.#changes));
  }

  /** Works with the newest state, and lets go of it. */
  async #apart<T>(listsForgotten: boolean, work: (library: Library, view: View) => Promise<T>): Promise<T> {
    const [library, view] = await readLibrary(this.opened, listsForgotten, this.#changes);
    try {
      return await work(library, view);
    } finally {
      library.free();
      view.free();
    }
  }

  async #tree(snapshot: string): Promise<[Tree, Shelf]> {
    const shelf = await this.#open();
    return [await shelf.tree(snapshot), shelf];
  }

  #endComparison(): void {
    if (!this.#comparison) return;
    this.#comparison.comparison.free();
    this.#giveBack(this.#comparison.shelf);
    this.#comparison = null;
  }

  #forget(): void {
    const shelf = this.#shelf;
    this.#shelf = null;
    if (shelf && !this.#lent.has(shelf)) shelf.free();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work, work);
    this.#turn = result.catch(() => {});
    return result;
  }
}

/** Patience of what a person steers. */
export function steered(control: Control, onWait: Patience["onWait"]): Patience {
  return onWait ? { tries: ENDLESS, signal: control.signal, onWait } : { tries: ENDLESS, signal: control.signal };
}

/** Entries of a page, hits of a search. */
const PAGE = 2_000;
const HITS = 1_000;
/** Bytes of all that is asked for at once, and of a picture that is shown. */
export const PARTS_MOST = 16 << 20;
