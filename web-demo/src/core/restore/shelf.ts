//! Shelf: the snapshots of one state of the repository, and the trees of them that are open.

import { release } from "../buffers";
import { type Opened, fetchAll } from "../coordinator/opened";
import type { Library, Piece, Read, Restore, SnapshotFacts, Tree, View } from "../engine";
import { brief } from "../gateway/client";
import type { Patience } from "../gateway/retry";
import { failure } from "../problem";
import { readLibrary } from "./library";
import { Opener } from "./opener";

/** Given the bytes of a read, by the read's place in the list. */
type Take = (bytes: Uint8Array<ArrayBuffer> | null, at: number) => Promise<void>;

/** What was the newest state when it was opened. */
export class Shelf {
  /** By their ids, the newest first. */
  readonly facts: ReadonlyMap<string, SnapshotFacts>;
  readonly #opener: Opener;
  readonly #trees = new Map<string, Tree>();

  private constructor(
    private readonly opened: Opened,
    readonly library: Library,
    private readonly view: View,
  ) {
    this.#opener = new Opener(library);
    this.facts = new Map(library.snapshots().map((facts) => [facts.id, facts]));
  }

  /** `changes` keeps what changes say of names of tags. */
  static async open(opened: Opened, changes: Map<string, Uint8Array>): Promise<Shelf> {
    const [library, view] = await readLibrary(opened, false, changes);
    try {
      return new Shelf(opened, library, view);
    } catch (error) {
      library.free();
      view.free();
      throw error;
    }
  }

  /** The tree of a snapshot, which goes with the shelf. */
  async tree(snapshot: string): Promise<Tree> {
    const open = this.#trees.get(snapshot);
    if (open) return open;
    const facts = this.facts.get(snapshot);
    if (!facts) throw failure("snapshot-gone");
    this.view.want(facts.domain);
    await this.opened.supply(this.view, brief());
    const tree = this.library.tree(snapshot);
    this.#trees.set(snapshot, tree);
    return tree;
  }

  /** Asks the engine until it needs nothing more for its answer. */
  async answer<T extends { needs: Read[] }>(ask: () => T): Promise<T> {
    const asked = new Map<string, number>();
    for (;;) {
      const answer = ask();
      if (answer.needs.length === 0) return answer;
      // Pages may push each other out of what the engine keeps: somebody has made them so, or the folder is very large.
      for (const { key, start } of answer.needs) {
        const at = `${key} ${start}`;
        const times = (asked.get(at) ?? 0) + 1;
        if (times > TIMES) throw failure("damaged", key);
        asked.set(at, times);
      }
      await this.supply(answer.needs, brief());
    }
  }

  /** Reads what an operation asked for. */
  async supply(needs: Read[], patience: Patience): Promise<void> {
    await this.read(needs, patience, async (bytes, at) => this.library.supply(needs[at]!, bytes!));
  }

  /** Reads parts of packs, a few at once; null: it could not be had. If a part is not where it was, follows the
   * repository to its newest root, which may know where the part is. */
  async read(reads: Read[], patience: Patience, take: Take): Promise<void> {
    let isMissing = false;
    await fetchAll([...reads.keys()], async (at) => {
      const bytes = await this.opened.read(patience, reads[at]!);
      isMissing ||= bytes === null;
      await take(bytes, at);
      // The engine has copied what it needs.
      if (bytes) release(bytes.buffer);
    });
    if (isMissing) await this.opened.follow(this.view, patience);
  }

  /** Opens what a read of a restore's window gave; null: it could not be had. */
  take(restore: Restore, read: number, bytes: Uint8Array<ArrayBuffer> | null): AsyncGenerator<Piece[]> {
    return this.#opener.take(restore, read, bytes);
  }

  free(): void {
    for (const tree of this.#trees.values()) tree.free();
    this.library.free();
    this.view.free();
  }
}

/** How often one answer may need the same read. */
const TIMES = 8;
