//! Backing: one backup as the page asked for it, from its workers to its result.

import type { BackupOptions, BackupProgress, BackupResult, CoreEvent } from "../api";
import { lateAnswer } from "../backup/late";
import { Ledger } from "../backup/progress";
import { BackupRun } from "../backup/run";
import { readSettings } from "../keep/database";
import type { Private } from "../keep/private";
import type { Task } from "../backup/site";
import { type Excludes, readExcludes } from "../source/excludes";
import { type Origin, countFiles, scan } from "../source/tree";
import type { Labour } from "../work/pool";
import type { Control } from "./control";
import { type Sealers, alone, start } from "./labour";
import type { Opened } from "./opened";

export { alone, start };

/** Tells the page what may have changed. */
export type Changing = (what: Extract<CoreEvent, { type: "changed" }>["what"]) => void;

/** One backup. */
export class Backing {
  #labour: Labour | null = null;
  #run: BackupRun | null = null;
  #control: Control | null = null;
  readonly #before = new Ledger();

  constructor(
    private readonly site: Opened,
    private readonly options: BackupOptions,
    private readonly origin: Origin,
    private readonly deviceName: string,
    private readonly kept: Private,
    private readonly sealers: Sealers,
    private readonly changed: Changing,
  ) {}

  progress(): BackupProgress {
    const found = this.#run?.reader?.found ?? { files: 0, bytes: 0, isComplete: false };
    return (this.#run?.ledger ?? this.#before).tell(found, this.#labour, this.#control?.isPaused ?? false);
  }

  async run(control: Control): Promise<BackupResult> {
    this.#control = control;
    const { site, options, origin } = this;
    const { database, gateway } = site;
    const client = await site.asClient(this.deviceName);
    const paths = origin.via === "handle" ? [origin.name] : [...origin.tops].sort();
    const repository = site.known.facts.id;
    const id = JSON.stringify([repository, options.label, paths]);
    const earlier = await database.get("unfinished", id);
    const folders = await database.all("folders").catch(() => []);
    const excludes = readExcludes(options.excludes);
    const key = () => client.chunkerKey() as Uint8Array<ArrayBuffer>;
    // A convenience, for which the browser may have no room: a backup does not fail of it.
    const note = async (bytes: number) => {
      const safe = Math.max(bytes, earlier?.bytes ?? 0);
      await database.put("unfinished", { id, repository, label: options.label, name: origin.name, excludes: options.excludes, time: Date.now(), bytes: safe }).catch(() => {});
    };
    this.#labour = await this.sealers.hire(await readSettings(database), key, site.known.descriptor.facts.parameters);
    try {
      this.#run = new BackupRun(
        {
          client,
          descriptor: site.known.descriptor,
          gateway,
          labour: this.#labour,
          compressor: this.sealers.compressor,
          kept: this.kept,
          sign: site.manifestSigner,
          openView: (patience) => site.openView(patience),
          random: (length) => crypto.getRandomValues(new Uint8Array(length)),
          now: () => Date.now(),
          secured: note,
        },
        { host: site.device?.name ?? this.deviceName, label: options.label, paths, program: PROGRAM, bytes: bytesOf(origin), scan: () => scan(origin, excludes), ...countOf(origin, excludes) },
        control,
      );
      await note(0);
      const { number, ...result } = await this.#run.run();
      await database.remove("unfinished", id).catch(() => {});
      if (result.receipt === "waiting") {
        listen(lateAnswer(site, client.facts.client, { number, time: result.time }, folders), this.changed);
      }
      return { ...result, resumed: earlier !== null };
    } finally {
      this.#labour.end();
    }
  }
}

/** Tells the page what an answer changes. Not in `Backing`: a wait of days would keep the names of all files with it. */
function listen(answer: Promise<boolean>, changed: Changing): void {
  const tell = (isRejected: boolean) => {
    if (isRejected) changed("remembered");
    changed("snapshots");
    changed("status");
  };
  answer.then(tell, () => {});
}

/** What snapshots say of who made them. */
const PROGRAM = "copal web 0.1";

/** How the files of a folder that is walked are counted. */
function countOf(origin: Origin, excludes: Excludes): Pick<Task, "count"> {
  return origin.via === "handle" ? { count: (isOver) => countFiles(origin.handle, excludes, isOver) } : {};
}

/** Bytes of all files of a list; null of a folder that is walked. */
function bytesOf(origin: Origin): number | null {
  return origin.via === "list" ? origin.columns.sizes.reduce((sum, size) => sum + size, 0) : null;
}
