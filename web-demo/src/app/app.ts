/** The page's state: one object that all screens are given. Everything secret stays in the core. */

import { computed, effect, signal, untracked } from "@preact/signals";
import type { Core, CoreEvent, EntryId, Settings, SnapshotList, Status } from "../core/api";
import type { Alarm } from "./alarms";
import { ask, type Asked } from "./asked";
import { BackingUp } from "./backing";
import { Comparing } from "./comparing";
import { Devices } from "./devices";
import { Finding } from "./finding";
import { Growing } from "./growing";
import { Jobs } from "./jobs";
import { Leaving } from "./leaving";
import { Listing } from "./listing";
import { Marking } from "./marking";
import { said } from "./parts/say";
import { Route } from "./route";
import { Seeking } from "./seeking";
import { Staging, type LockedBecause } from "./stage";
import { BROWSER, Telling } from "./telling";
import { Thumbs } from "./thumbs";
import { Tracing } from "./tracing";
import { Upkeep } from "./upkeep";
import type { Watching } from "./watching";
import { whenAmong } from "./words";
import { language } from "../words/language";

/** Entries of a snapshot, and what they are called together. */
export interface ToShare {
  snapshot: string;
  entries: EntryId[];
  title: string;
}

export class App {
  readonly core: Core;
  readonly staging: Staging;
  readonly route = new Route();
  readonly backing: BackingUp;
  readonly listing: Listing;
  readonly finding: Finding;
  readonly comparing: Comparing;
  readonly tracing: Tracing;
  readonly seeking: Seeking;
  readonly thumbs: Thumbs;
  readonly marking: Marking;
  readonly devices: Devices;
  readonly upkeep: Upkeep;
  readonly growing: Growing;
  readonly jobs = new Jobs();
  /** What a link is to be made of. */
  readonly sharing = signal<ToShare | null>(null);
  readonly snapshots = signal<Asked<SnapshotList>>({ at: "asking" });
  /** Says when a snapshot was made, so that no two of the list read the same. */
  readonly whenMade = computed(() => whenAmong(this.snapshots.value.at === "here" ? this.snapshots.value.value.snapshots : []));
  readonly status = signal<Asked<Status>>({ at: "asking" });
  readonly settings = signal<Settings | null>(null);
  /** What needs a person. */
  readonly alarms = signal<readonly Alarm[]>([]);

  readonly #leaving: Leaving;
  readonly #telling: Telling;
  #watching: Watching | null = null;

  constructor(core: Core, leaving: Leaving = new Leaving(), telling: Telling = new Telling()) {
    this.core = core;
    this.#leaving = leaving;
    this.#telling = telling;
    this.staging = new Staging(core, leaving.why());
    this.backing = new BackingUp(core);
    this.listing = new Listing(core);
    this.finding = new Finding(core);
    this.comparing = new Comparing(core);
    this.tracing = new Tracing(core);
    this.seeking = new Seeking(core);
    this.thumbs = new Thumbs(core);
    this.marking = new Marking(core);
    this.devices = new Devices(core);
    this.growing = new Growing(core);
    this.upkeep = new Upkeep(core, () => Promise.all([this.loadStatus(), this.watch()]));
  }

  async start(): Promise<void> {
    this.core.subscribe((event) => this.hear(event));
    // Once the core has answered: it takes an enrollment link out of the address before the route looks at it.
    let begun = false;
    effect(() => {
      if (begun || this.staging.stage.value.at === "starting") return;
      begun = true;
      untracked(() => this.route.begin());
    });
    let wasOpen = false;
    effect(() => {
      const isOpen = this.staging.stage.value.at === "open";
      if (isOpen && !wasOpen) untracked(() => { void this.backing.startDue(); void this.watch(); });
      wasOpen = isOpen;
    });
    effect(() => {
      const state = this.backing.state.value;
      untracked(() => this.#telling.hear(state, this.settings.value?.notify ?? false));
    });
    // An alarm has the words of the language in which it was judged.
    effect(() => {
      language();
      untracked(() => this.#watching?.judge());
    });
    setInterval(() => void this.watch("closely"), WATCH);
    await Promise.all([this.staging.start(), this.loadSettings()]);
  }

  hear(event: CoreEvent): void {
    this.staging.hear(event);
    if (event.type === "locked") this.#locked(event.reason);
    if (event.type === "changed") void this.#refresh(event.what);
  }

  async lock(): Promise<void> {
    await this.staging.lock();
    this.#locked("asked");
  }

  async setOffline(isOn: boolean): Promise<void> {
    this.settings.value = await this.core.setOffline(isOn);
  }

  async loadSettings(): Promise<void> {
    this.settings.value = await this.core.settings().catch(() => null);
  }

  async changeSettings(change: Partial<Settings>): Promise<void> {
    // Shown at once; what the core then says counts.
    if (this.settings.value) this.settings.value = { ...this.settings.value, ...change };
    await this.core.changeSettings(change).then((settings) => { this.settings.value = settings; }, () => this.loadSettings());
    this.#watching?.judge();
  }

  async loadSnapshots(): Promise<void> {
    if (this.snapshots.value.at === "failed") this.snapshots.value = { at: "asking" };
    await ask(this.core.snapshots(), (asked) => { this.snapshots.value = asked; });
  }

  async loadStatus(): Promise<void> {
    if (this.status.value.at === "failed") this.status.value = { at: "asking" };
    await ask(this.core.status(), (asked) => { this.status.value = asked; });
  }

  /** Looks whether something needs a person. What judges that is loaded once the page is open. */
  async watch(how: "broadly" | "closely" = "broadly"): Promise<void> {
    if (this.staging.stage.value.at !== "open") return;
    this.#watching ??= await import("./watching").then(({ Watching }) => this.#watching ?? new Watching({
      core: this.core, notifier: BROWSER, now: Date.now,
      session: () => { const stage = this.staging.stage.value; return stage.at === "open" ? stage.session : null; },
      settings: () => this.settings.value,
      remembered: async () => { await this.backing.loadRemembered(); return this.backing.remembered.value ?? []; },
      snapshots: async () => { await this.loadSnapshots(); const { value } = this.snapshots; return value.at === "here" ? value.value.snapshots : []; },
      show: (alarms) => { this.alarms.value = alarms; },
    }), () => null);
    await (how === "closely" ? this.#watching?.lookClosely() : this.#watching?.look());
  }

  /** A run is under way: it would be lost, though nothing that is stored would. */
  get isWorking(): boolean {
    return this.backing.state.value.at === "running" || this.jobs.jobs.value.some((job) => job.end === null);
  }

  async #refresh(what: "snapshots" | "status" | "remembered" | "session"): Promise<void> {
    const stage = this.staging.stage.value;
    if (stage.at !== "open") return;
    if (what === "session") {
      await this.staging.loadSession();
      this.#watching?.judge();
    }
    if (what === "remembered") await this.backing.loadRemembered();
    if (what === "status") await Promise.all([this.loadStatus(), this.backing.lookForReceipt(), this.watch()]);
    if (what === "snapshots" && stage.session.role === "full") await this.loadSnapshots();
  }

  #locked(why: Exclude<LockedBecause, "fresh">): void {
    this.#forget();
    // What failed is said on this page.
    if (why !== "failed") void this.#leaving.leave(why, () => this.staging.locked);
  }

  /** Names of files are as secret as files: what was shown goes with the keys. */
  #forget(): void {
    this.finding.stop();
    this.listing.forget();
    this.comparing.forget();
    this.tracing.forget();
    this.seeking.forget();
    this.thumbs.forget();
    this.marking.forget();
    this.devices.forget();
    this.upkeep.forget();
    this.growing.forget();
    this.#watching?.forget();
    this.jobs.forget();
    this.sharing.value = null;
    this.route.forget();
    this.snapshots.value = { at: "asking" };
    this.status.value = { at: "asking" };
    this.backing.forget();
    said.value = "";
  }
}

/** Milliseconds from one look to the next. */
const WATCH = 60 * 60_000;
