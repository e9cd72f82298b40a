//! Staging: downloads on their way to the browser's own. What is staged is plain, so it stays no longer than the browser
//! needs to copy it.

import type { Private } from "../keep/private";
import { type Place, stagedPlace } from "../restore/place";

/** What waiting depends on; tests bring their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  later(work: () => void, ms: number): void;
}

/** Downloads in private files. */
export class Staging {
  constructor(
    private readonly open: () => Promise<Private>,
    private readonly clock: Clock = { now: () => Date.now(), later: (work, ms) => void setTimeout(work, ms) },
  ) {}

  /** A new download of this name. */
  async begin(name: string): Promise<Staged> {
    const files = await this.open();
    const staged = `${this.clock.now()} ${name}`;
    const finish = async () => {
      const file = await files.file(staged);
      this.clock.later(() => void this.sweep(), STAGED_FOR);
      return file;
    };
    return { place: () => stagedPlace(files, staged), finish };
  }

  /** The page was loaded: what an earlier one has left is removed, now or once the browser has copied it. */
  async start(): Promise<void> {
    this.clock.later(() => void this.sweep(), STAGED_FOR);
    await this.sweep();
  }

  /** The page locks: who was handed something has it by now. */
  lock(): Promise<void> {
    return this.sweep(LOCKED_AFTER);
  }

  /** Removes what was last written so long ago. What is being written the browser does not let go of. */
  async sweep(age = STAGED_FOR): Promise<void> {
    const files = await this.open().catch(() => null);
    for (const name of (await files?.list().catch(() => [])) ?? []) {
      const written = await files!.file(name).then((file) => file.lastModified, () => null);
      if (written !== null && this.clock.now() - written >= age) await files!.remove(name);
    }
  }
}

/** A download that was begun. */
export interface Staged {
  /** Where its bytes go. */
  place(): Promise<Place>;
  /** The whole of it, for the browser to copy in the next minutes. */
  finish(): Promise<File>;
}

/** Milliseconds that a download may take to be with the browser: always, and when the page locks. */
const STAGED_FOR = 600_000;
const LOCKED_AFTER = 60_000;
