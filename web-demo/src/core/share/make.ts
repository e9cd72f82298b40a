//! Making a share: files of a snapshot are restored into a target that seals them anew, with a key that stands only in the link.

import type { EntryId, RestoreResult } from "../api";
import { release } from "../buffers";
import { joined } from "../bytes";
import type { Control } from "../coordinator/control";
import type { Opened } from "../coordinator/opened";
import type { Waiting } from "../coordinator/runs";
import type { EntryFacts } from "../engine";
import { Uploads } from "../gateway/uploads";
import { failure } from "../problem";
import { type Books, steered } from "../restore/books";
import { baseOf, below } from "../restore/paths";
import { RestoreRun } from "../restore/run";
import type { Target } from "../restore/targets";
import type { ShareProgress, ShareResult, ShareTerms } from "../shares";
import { revoke } from "./kept";
import { type ShareKeys, deriveKeys, linkOf, tokenHash } from "./keys";
import { labelKey, sealLabel } from "./label";
import { ENTRIES_MOST, LENGTH_MOST, LIST_MOST, type ShareEntry, writeList } from "./list";
import { PIECES, Sealing } from "./stream";

/** One share on its way. */
export class ShareRun {
  readonly #going: RestoreRun;
  #waiting: Waiting = null;

  constructor(
    private readonly site: Opened,
    books: Books,
    snapshot: string,
    private readonly entries: EntryId[],
    private readonly terms: ShareTerms,
  ) {
    this.#going = new RestoreRun(books, snapshot, entries);
  }

  progress(): ShareProgress {
    const progress = this.#going.progress();
    const waiting = this.#waiting;
    if (waiting === null || progress.state !== "running") return progress;
    return { ...progress, state: waiting.problem.code === "offline" ? "offline" : "retrying", problem: waiting.problem, retryAt: waiting.until };
  }

  async run(control: Control): Promise<ShareResult> {
    const key = crypto.getRandomValues(new Uint8Array(32));
    const keys = await deriveKeys(key);
    const ends = Math.floor(this.site.gateway.now() / 1000) + this.terms.days * DAY;
    const result = await this.#going.run(control, async () => {
      const { bytes, files } = this.#going.progress();
      if (bytes.total > LENGTH_MOST || files.total > ENTRIES_MOST) throw failure("share-too-large");
      return new ShareTarget(new Store(this.site, keys, control, (waiting) => (this.#waiting = waiting)), baseOf(this.entries), ends, this.terms);
    });
    const link = linkOf(location.origin, key);
    key.fill(0);
    return { ...result, link, ends: 1000 * ends };
  }
}

/** Seals what is restored into it. What is not finished is taken back. */
class ShareTarget implements Target {
  readonly #entries: ShareEntry[] = [];
  readonly #content: Sealing;
  readonly #parts: Uint8Array<ArrayBuffer>[] = [];
  #at = 0;
  /** About how long the list will be. */
  #listed = 0;

  constructor(
    private readonly store: Store,
    private readonly base: string,
    private readonly ends: number,
    private readonly terms: ShareTerms,
  ) {
    this.#content = new Sealing(store.keys.content, (sealed) => this.#gather(sealed));
  }

  async begin(entry: EntryFacts): Promise<RestoreResult["skipped"][number]["why"] | null> {
    const path = below(this.base, entry.path);
    if (path === "") return null;
    if (entry.kind === "symlink") return "link";
    if (entry.kind === "other") return "special";
    const time = entry.modified === 0 ? null : Math.round(entry.modified);
    this.#entries.push(entry.kind === "file" ? { path, time, size: entry.size, offset: this.#at } : { path, time });
    this.#listed += 3 * path.length + ENTRY;
    if (this.#entries.length > ENTRIES_MOST || this.#listed > LIST_MOST) throw failure("share-too-large");
    return null;
  }

  async data(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#content.add(bytes);
    this.#at += bytes.length;
    // Also what was taken back has been sealed, and takes room.
    if (this.#at > LENGTH_MOST) throw failure("share-too-large");
  }

  async end(): Promise<void> {}

  /** Its bytes stay in the stream, and no entry names them. */
  async abort(): Promise<void> {
    this.#entries.pop();
  }

  async finish(): Promise<void> {
    if (!this.#entries.some(({ size }) => size !== undefined)) throw failure("nothing-to-share");
    await this.#content.end();
    await this.#flush();
    await this.store.settled();
    const list = writeList({ name: this.terms.label, length: this.#at, entries: this.#entries });
    const sealed: Uint8Array[] = [];
    const sealing = new Sealing(this.store.keys.list, async (piece) => void sealed.push(piece));
    await sealing.add(list);
    await sealing.end();
    await this.store.finish(joined(sealed), this.ends, this.terms);
  }

  async drop(): Promise<void> {
    await this.store.drop();
  }

  async #gather(sealed: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#parts.push(sealed);
    if (this.#parts.length === PIECES) await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#parts.length > 0) await this.store.put(joined(this.#parts.splice(0)));
  }
}

/** Where the objects of a share go. */
class Store {
  readonly #uploads = new Uploads(AT_ONCE);
  #objects = 0;
  #length = 0;

  constructor(
    private readonly site: Opened,
    readonly keys: ShareKeys,
    private readonly control: Control,
    private readonly onWait: (waiting: Waiting) => void,
  ) {}

  /** Takes the next object once there is room for it. */
  async put(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#objects += 1;
    this.#length += bytes.length;
    const name = `shares/data/${this.keys.id}/${String(this.#objects).padStart(20, "0")}`;
    await this.#uploads.add(() => this.#create(name, bytes));
  }

  settled(): Promise<void> {
    return this.#uploads.all();
  }

  /** Stores the list, and then the terms: from here on the link opens. */
  async finish(list: Uint8Array<ArrayBuffer>, ends: number, { label, count }: ShareTerms): Promise<void> {
    const { id, token } = this.keys;
    const length = list.length;
    await this.#create(`shares/list/${id}`, list);
    const sealed = await sealLabel(await labelKey(this.site.owner!), id, label);
    const terms = { token: await tokenHash(token), ends, count, length: this.#length, list: length, label: sealed };
    await this.site.gateway.ask(steered(this.control, this.onWait), "POST", `/v1/shares/${id}`, JSON.stringify(terms));
  }

  /** Takes back what is stored; what cannot be reached a prune removes. */
  async drop(): Promise<void> {
    await this.#uploads.all().catch(() => {});
    await revoke(this.site, this.keys.id);
  }

  async #create(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    // An object that is there is our own: an earlier try, whose answer was lost.
    await this.site.gateway.create(steered(this.control, this.onWait), name, bytes);
    release(bytes.buffer);
  }
}

/** Objects on their way at once. */
const AT_ONCE = 2;
/** Bytes of an entry of the list, besides its path. */
const ENTRY = 80;
/** Seconds. */
const DAY = 24 * 60 * 60;
