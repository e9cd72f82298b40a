/** Watching: looks now and then whether something needs a person, and says so: on the page, and by the system where the page is
 * hidden. */

import type { Core, Device, Hold, RememberedFolder, Session, Settings, Snapshot } from "../core/api";
import { type Alarm, alarms, type Facts, staleSeries } from "./alarms";
import type { Notifier } from "./telling";

/** What the page lets watching see and do. */
export interface Surroundings {
  core: Core;
  session: () => Session | null;
  settings: () => Settings | null;
  remembered: () => Promise<readonly RememberedFolder[]>;
  /** Names of series are asked for only where one is missed. */
  snapshots: () => Promise<readonly Snapshot[]>;
  show: (alarms: Alarm[]) => void;
  notifier: Notifier;
  now: () => number;
}

export class Watching {
  #told: Set<string> | null = null;
  #facts: Omit<Facts, "session" | "settings"> | null = null;
  #looking: Promise<void> | null = null;
  /** Whether holds are asked for: what knows of them is a part of the page that is loaded for it. */
  #isClose = false;
  #holds: readonly Hold[] = [];

  constructor(private readonly page: Surroundings) {}

  /** From now on looks for holds too. */
  lookClosely(): Promise<void> {
    const isNew = !this.#isClose;
    this.#isClose = true;
    return isNew && this.#looking ? this.#looking.then(() => this.look()) : this.look();
  }

  /** Looks once; whoever asks meanwhile waits for the same look. A server that is away raises no alarm: the page says that anyway. */
  look(): Promise<void> {
    return (this.#looking ??= this.#look().finally(() => { this.#looking = null; }));
  }

  /** Judges anew what was seen last: settings have changed. */
  judge(): void {
    const [session, settings] = [this.page.session(), this.page.settings()];
    if (!session || !settings || !this.#facts) return;
    const found = alarms({ ...this.#facts, session, settings }, this.page.now());
    this.page.show(found);
    this.#tell(found, settings.notify);
  }

  /** What a page that locks must let go of. */
  forget(): void {
    this.#told = null;
    this.#facts = null;
    [this.#isClose, this.#holds] = [false, []];
    this.page.show([]);
  }

  async #look(): Promise<void> {
    const { core, session, settings, now } = this.page;
    const before = session();
    const choices = settings();
    if (!before || !choices) return;
    try {
      const watched = await core.watched();
      const remembered = await this.page.remembered();
      const isMissed = before.role === "full" && staleSeries({ watched, settings: choices }, now()).length > 0;
      const [snapshots, devices] = isMissed ? await Promise.all([this.page.snapshots(), core.devices()]) : [[] as Snapshot[], [] as Device[]];
      // Where they cannot be told, what was seen last still holds.
      const holds = before.role === "full" && this.#isClose ? await core.administer("holds").catch(() => this.#holds) : [];
      // It may have been locked meanwhile.
      if (session() === null) return;
      this.#holds = holds;
      this.#facts = { watched, remembered, snapshots, devices, holds };
      this.judge();
    } catch {
      // The next look may see more.
    }
  }

  /** Tells what is new while nobody looks. What was there at the first look stands on the page, for whoever has just opened it. */
  #tell(found: Alarm[], isWanted: boolean): void {
    const { notifier } = this.page;
    // A warning of this browser stands on the page, and concerns nobody who is elsewhere.
    const fresh = this.#told ? found.filter(({ id, warning }) => warning === undefined && !this.#told!.has(id)) : [];
    this.#told = new Set(found.map(({ id }) => id));
    if (!isWanted || notifier.isLookedAt() || !notifier.isAllowed()) return;
    for (const { id, title } of fresh) notifier.show(title, "", id);
  }
}
