/** Backing up, as the page sees it: choosing, ready, running, and how it ended. */

import { signal } from "@preact/signals";
import type { BackupOptions, BackupProgress, BackupResult, Core, Folder, Problem, RememberedFolder, Run, UnfinishedBackup } from "../core/api";
import { problemOf } from "../core/problem";

export type Backing =
  | { at: "choosing"; opening: boolean; problem: Problem | null }
  /** `device`: the name that this browser is to have, where it is no device yet. */
  | { at: "ready"; folder: Folder; label: string; excludes: string; remember: boolean; device?: string }
  | { at: "running"; options: BackupOptions; progress: BackupProgress | null; asked: "go" | "pause" | "cancel" }
  /** `opensAnew`: whether the folder can be opened anew, as it is then. A list of files has to be chosen again. */
  | { at: "done"; options: BackupOptions; result: BackupResult; blindTo: Folder["blindTo"]; opensAnew: boolean }
  /** Also when it was cancelled: `problem.code` says so. */
  | { at: "ended"; options: BackupOptions; problem: Problem; progress: BackupProgress | null };

export class BackingUp {
  readonly state = signal<Backing>(CHOOSING);
  readonly remembered = signal<RememberedFolder[] | null>(null);
  readonly unfinished = signal<UnfinishedBackup[]>([]);
  #run: Run<BackupProgress, BackupResult> | null = null;
  /** The folders that were chosen, by their number. */
  readonly #folders = new Map<string, Folder>();
  /** What was begun before the page was locked changes nothing any more. */
  #turn = 0;

  constructor(private readonly core: Core) {}

  async loadRemembered(): Promise<void> {
    try {
      this.unfinished.value = await this.core.unfinished();
      this.remembered.value = await this.core.remembered();
    } catch {
      // Only a convenience: without it a folder is chosen by hand.
      [this.unfinished.value, this.remembered.value] = [[], []];
    }
  }

  /** Takes a folder that is being chosen, to go on with an unfinished backup or anew; null means that the person changed their
   * mind. */
  async take(choosing: Promise<Folder | null>, unfinished: UnfinishedBackup | null = null): Promise<void> {
    this.state.value = { at: "choosing", opening: true, problem: null };
    const turn = this.#turn;
    try {
      const folder = await choosing;
      if (turn !== this.#turn) return;
      if (folder) this.#folders.set(folder.id, folder);
      this.state.value = folder
        ? { at: "ready", folder, label: unfinished?.label ?? folder.label, excludes: unfinished?.excludes.join("\n") ?? "", remember: folder.canRemember }
        : CHOOSING;
    } catch (thrown) {
      if (turn === this.#turn) this.state.value = { at: "choosing", opening: false, problem: problemOf(thrown) };
    }
  }

  edit(change: Partial<{ label: string; excludes: string; remember: boolean; device: string }>): void {
    const state = this.state.value;
    if (state.at === "ready") this.state.value = { ...state, ...change };
  }

  async startReady(): Promise<void> {
    const state = this.state.value;
    if (state.at !== "ready") return;
    await this.start({
      folder: state.folder.id,
      label: state.label.trim() || state.folder.label,
      excludes: patterns(state.excludes),
      remember: state.remember && state.folder.canRemember,
      ...(state.device ? { device: state.device } : {}),
    });
  }

  /** One click for a folder of before. */
  async startRemembered(folder: Pick<RememberedFolder, "id" | "label" | "excludes">): Promise<void> {
    this.state.value = { at: "choosing", opening: true, problem: null };
    const turn = this.#turn;
    try {
      const opened = await this.core.openRemembered(folder.id);
      if (turn !== this.#turn) return;
      this.#folders.set(opened.id, opened);
      await this.start({ folder: opened.id, label: folder.label, excludes: folder.excludes, remember: true });
    } catch (thrown) {
      if (turn === this.#turn) this.state.value = { at: "choosing", opening: false, problem: problemOf(thrown) };
    }
  }

  /** Backs up what the person wants backed up whenever the page is opened, one after another. Whoever does something else
   * meanwhile, or a backup that fails, ends it. */
  async startDue(now = Date.now(), pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, PAUSE))): Promise<void> {
    const turn = this.#turn;
    await this.loadRemembered();
    for (const folder of due(this.remembered.value ?? [], now)) {
      for (let left = TRIES; left > 0; left--) {
        if (turn !== this.#turn || !this.#isFree) return;
        await this.startRemembered(folder);
        const state = this.state.value;
        if (state.at !== "ended" || state.problem.code !== "elsewhere") break;
        // Another tab does it, and the page says so; or this page was loaded anew, and what it was before still ends.
        this.choose();
        if (left > 1) await pause();
      }
      if (this.state.value.at !== "done") return;
    }
  }

  get #isFree(): boolean {
    const state = this.state.value;
    return state.at === "done" || (state.at === "choosing" && !state.opening && state.problem === null);
  }

  async setAutomatic(id: string, automatic: boolean): Promise<void> {
    await this.core.setAutomatic(id, automatic);
    await this.loadRemembered();
  }

  async forgetRemembered(id: string): Promise<void> {
    await this.core.forgetRemembered(id);
    await this.loadRemembered();
  }

  async forgetUnfinished(id: string): Promise<void> {
    await this.core.forgetUnfinished(id);
    await this.loadRemembered();
  }

  async start(options: BackupOptions): Promise<void> {
    this.state.value = { at: "running", options, progress: null, asked: "go" };
    const turn = this.#turn;
    let newest: BackupProgress | null = null;
    try {
      const run = await this.core.startBackup(options);
      this.#run = run;
      // Whoever cancelled before there was anything to cancel is obeyed now.
      this.#obey(run);
      const stop = run.onProgress((progress) => {
        newest = progress;
        const state = this.state.value;
        if (state.at === "running") this.state.value = { ...state, progress };
      });
      try {
        const result = await run.done;
        if (turn !== this.#turn) return;
        const folder = this.#folders.get(options.folder);
        this.state.value = { at: "done", options, result, blindTo: folder?.blindTo ?? [], opensAnew: folder?.canRemember ?? false };
      } finally {
        stop();
      }
      await this.loadRemembered();
    } catch (thrown) {
      if (turn === this.#turn) this.state.value = { at: "ended", options, problem: problemOf(thrown), progress: newest };
    } finally {
      if (turn === this.#turn) this.#run = null;
    }
  }

  ask(what: "go" | "pause" | "cancel"): void {
    const state = this.state.value;
    if (state.at !== "running") return;
    this.state.value = { ...state, asked: what };
    if (this.#run) this.#obey(this.#run);
  }

  async again(): Promise<void> {
    const state = this.state.value;
    if (state.at === "done" && !state.opensAnew) this.choose();
    else if (state.at === "ended" || state.at === "done") await this.start(state.options);
  }

  choose(): void {
    if (this.state.value.at !== "running") this.state.value = CHOOSING;
  }

  /** Forgets what was chosen and what runs, with all names: the page is locked, and the run has ended with its keys. */
  forget(): void {
    this.#turn += 1;
    this.#run = null;
    this.#folders.clear();
    this.state.value = CHOOSING;
  }

  /** Looks whether the service has answered what is shown as done. */
  async lookForReceipt(): Promise<void> {
    const state = this.state.value;
    if (state.at !== "done" || state.result.receipt === "verified") return;
    const status = await this.core.status().catch(() => null);
    const receipt = status?.receipts.find((one) => one.snapshot === state.result.snapshot);
    if (!receipt || this.state.value !== state) return;
    if (receipt.state === "verified") this.state.value = { ...state, result: { ...state.result, receipt: "verified" } };
    if (receipt.state === "rejected" && receipt.problem) {
      const problem = { ...receipt.problem, canRetry: receipt.problem.canRetry && state.opensAnew };
      this.state.value = { at: "ended", options: state.options, problem, progress: null };
    }
  }

  #obey(run: Run<BackupProgress, BackupResult>): void {
    const state = this.state.value;
    if (state.at !== "running") return;
    if (state.asked === "cancel") run.cancel();
    if (state.asked === "pause") run.pause();
    if (state.asked === "go") run.resume();
  }
}

/** One pattern in a line; empty lines and comments are none. */
export function patterns(text: string): string[] {
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"));
}

/** Adds a pattern's line, or takes it away. */
export function toggled(text: string, pattern: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const without = lines.filter((line) => line.trim() !== pattern);
  return (without.length === lines.length ? [...lines, pattern] : without).join("\n");
}

/** Folders that are to be backed up by themselves by now, and open without a question. */
export function due(folders: RememberedFolder[], now: number): RememberedFolder[] {
  return folders.filter(({ automatic, permission, lastBackup }) => automatic && permission === "granted" && now - (lastBackup ?? 0) >= AGAIN_AFTER);
}

/** How much of it is done, 0 to 1, or null while nobody can say. */
export function partOf(progress: BackupProgress | null): number | null {
  if (!progress) return null;
  if (progress.phase === "verifying") return 1;
  const { bytes, files } = progress;
  if (bytes.total) return Math.min(1, bytes.done / bytes.total);
  if (bytes.total === 0) return files.total ? Math.min(1, files.done / files.total) : null;
  // About so much: it may be more, so it is never said to be all.
  if (bytes.expected) return Math.min(ALMOST, bytes.done / bytes.expected);
  return files.expected ? Math.min(ALMOST, files.done / files.expected) : null;
}

const ALMOST = 0.99;
/** How often a backup that is to begin by itself asks for a folder that another tab has, and milliseconds between. */
const TRIES = 4;
const PAUSE = 2_000;
/** Opening the page twice a day backs up once. */
const AGAIN_AFTER = 12 * 60 * 60_000;

const CHOOSING: Backing = { at: "choosing", opening: false, problem: null };
