//! Saving: opened bytes go into a file that the person has picked, or into memory and from there to the browser's downloads. What is
//! not whole becomes no file.

import { type OpenShare, ShareError } from "../core/share/read";
import type { ShareEntry } from "../core/share/list";
import { asFileName } from "../core/restore/paths";
import { type Place, pickedPlace } from "../core/restore/place";
import { SingleTarget, type Target, ZipTarget, isGoodInZip } from "../core/restore/targets";
import { baseName } from "../app/names";

/** What is to be saved: one file as itself, or all as a zip. */
export type What = ShareEntry | "all";

/** What a download is called. */
export function fileName(share: OpenShare, what: What): string {
  return what === "all" ? `${asFileName(share.list.name)}.zip` : asFileName(baseName(what.path));
}

/** Bytes of what is to be saved. */
export function bytesIn(share: OpenShare, what: What): number {
  const entries = what === "all" ? share.list.entries : [what];
  return entries.reduce((sum, { size }) => sum + (size ?? 0), 0);
}

/** Names that no archive may hold, because they would lead out of the folder that it is unpacked in. */
export function refusedNames(share: OpenShare): string[] {
  return share.list.entries.map(({ path }) => path).filter((path) => !isGoodInZip(path));
}

/** Whether this browser can save so much. */
export function canSave(bytes: number): boolean {
  return bytes <= IN_MEMORY || "showSaveFilePicker" in globalThis;
}

/** Where a download goes; null if the person does not want it after all. Asks at once, as long as the click counts. */
export async function choosePlace(name: string, bytes: number): Promise<Place | null> {
  if (bytes <= IN_MEMORY / 8 || !("showSaveFilePicker" in globalThis)) return new InMemory(name, bytes);
  try {
    return await pickedPlace(await showSaveFilePicker({ suggestedName: name }));
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return null;
    throw error;
  }
}

/** Saves into a place; gives the names that were left out. */
export async function save(share: OpenShare, what: What, place: Place, signal: AbortSignal, told: (bytes: number) => void): Promise<string[]> {
  const target: Target = what === "all" ? new ZipTarget(place, "", false) : new SingleTarget(place);
  const refused: string[] = [];
  let done = 0;
  try {
    for (const entry of what === "all" ? share.list.entries : [what]) {
      const isFile = entry.size !== undefined;
      const facts = { id: "", path: entry.path, name: "", kind: isFile ? "file" : "directory", size: entry.size ?? 0, modified: entry.time ?? 0, target: null, mode: 0, uid: 0, gid: 0 } as const;
      if ((await target.begin(facts)) !== null) {
        refused.push(entry.path);
        continue;
      }
      if (!isFile) continue;
      for await (const bytes of share.bytes(entry, what === "all" ? share.list.length : 0, signal)) {
        signal.throwIfAborted();
        await target.data(bytes);
        told((done += bytes.length));
      }
      await target.end();
    }
    await target.finish();
    return refused;
  } catch (error) {
    await target.drop().catch(() => {});
    throw error;
  }
}

/** A file in memory, which becomes a download once it is whole. */
class InMemory implements Place {
  #parts: Uint8Array<ArrayBuffer>[] = [];
  #length = 0;

  constructor(
    private readonly name: string,
    bytes: number,
  ) {
    if (bytes > IN_MEMORY) throw new ShareError("away");
  }

  async write(bytes: Uint8Array<ArrayBuffer>, at: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const [part, within] = [Math.floor((at + done) / PART), (at + done) % PART];
      while (this.#parts.length <= part) this.#parts.push(new Uint8Array(PART));
      const some = bytes.subarray(done, done + PART - within);
      this.#parts[part]!.set(some, within);
      done += some.length;
    }
    this.#length = Math.max(this.#length, at + bytes.length);
  }

  async truncate(length: number): Promise<void> {
    this.#length = length;
  }

  async close(): Promise<void> {
    const whole = this.#parts.map((part, at) => part.subarray(0, Math.max(0, Math.min(PART, this.#length - at * PART))));
    // Never shown by this page, whatever it is.
    const address = URL.createObjectURL(new Blob(whole, { type: "application/octet-stream" }));
    this.#parts = [];
    const link = document.createElement("a");
    [link.href, link.download] = [address, this.name];
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), KEPT);
  }

  async drop(): Promise<void> {
    this.#parts = [];
  }
}

/** Bytes that a download may take without a file that was picked for it. */
export const IN_MEMORY = 512 << 20;
const PART = 1 << 20;
/** Milliseconds that the browser has to fetch what it was given. */
const KEPT = 10 * 60_000;
