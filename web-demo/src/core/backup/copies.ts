//! Copies of the trees of earlier runs, which a run compares with, and the one that it makes for the next. They are a
//! convenience: whatever goes wrong with one, the next run reads every file again, and uploads nothing twice.

import type { Private, PrivateFile } from "../keep/private";

/** The copies of one source. */
export class Copies {
  #copy: { file: PrivateFile; name: string; length: number } | null = null;
  #older: string[] = [];

  constructor(private readonly kept: Private) {}

  /** Gives what earlier runs have kept, the newest first, and begins the copy that the next run compares with. */
  async open(source: string, begun: number, parent: (bytes: Uint8Array) => void): Promise<void> {
    const { kept } = this;
    const prefix = `${source}.`;
    try {
      const names = (await kept.list()).filter((name) => name.startsWith(prefix)).sort().reverse();
      for (const name of names.slice(KEPT)) await kept.remove(name);
      for (const name of names.slice(0, KEPT)) {
        const bytes = await kept.read(name);
        if (bytes) parent(bytes);
      }
      this.#older = names;
      const name = `${prefix}${String(Math.round(begun)).padStart(16, "0")}`;
      this.#copy = { file: await kept.create(name), name, length: 0 };
      await this.#copy.file.truncate(0);
    } catch {
      this.#copy = null;
    }
  }

  /** Writes on at the copy, as long as there is something to write. */
  async add(take: () => Uint8Array | null | undefined): Promise<void> {
    for (let bytes = take(); bytes && bytes.length > 0; bytes = take()) {
      const copy = this.#copy;
      if (!copy) continue;
      try {
        await copy.file.write(bytes, copy.length);
        copy.length += bytes.length;
      } catch {
        this.#copy = null;
        await copy.file.close().catch(() => {});
        await this.kept.remove(copy.name);
      }
    }
    await this.#copy?.file.flush().catch(() => {});
  }

  /** Puts the copy, which is whole, in the place of the older ones. */
  async replace(): Promise<void> {
    if (!this.#copy) return;
    await this.close();
    for (const name of this.#older) await this.kept.remove(name);
  }

  /** Ends writing; what was written stays for the next run. */
  async close(): Promise<void> {
    const copy = this.#copy;
    this.#copy = null;
    await copy?.file.close().catch(() => {});
  }
}

/** Copies of unfinished runs that are looked at. */
const KEPT = 4;
