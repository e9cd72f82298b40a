// A repository in a directory, read as a browser reads one through a gateway.
import { existsSync, mkdirSync, openSync, readFileSync, readSync, closeSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export class Directory {
  constructor(path) {
    this.path = path;
    /** Keys of a library's sessions, and of every block that the host's cipher was at whether it has opened it. */
    [this.keys, this.opens] = [new Map(), []];
  }

  read({ key, start, end }) {
    const file = join(this.path, key);
    if (!existsSync(file)) return null;
    if (end === null) return new Uint8Array(readFileSync(file));
    const bytes = new Uint8Array(end - start);
    const opened = openSync(file, "r");
    const length = readSync(opened, bytes, 0, bytes.length, start);
    closeSync(opened);
    return bytes.subarray(0, length);
  }

  whole(key) {
    return this.read({ key, start: 0, end: null });
  }

  /** Creates an object, never another of that name. */
  create(key, bytes) {
    mkdirSync(dirname(join(this.path, key)), { recursive: true });
    writeFileSync(join(this.path, key), bytes, { flag: "wx" });
  }

  names(prefix) {
    const folder = join(this.path, prefix);
    return existsSync(folder) ? readdirSync(folder).sort().map((name) => `${prefix}${name}`) : [];
  }

  /** All versions of a client's record. */
  /** All versions of a client's record, each in both of its copies. */
  records(client) {
    return this.names(`clients/${client}/`).map((key) => [Number(key.split("/").pop().replace(/\.b$/, "")), this.whole(key)]);
  }

  descriptor(copal) {
    const key = this.names("copal/").pop();
    return new copal.Descriptor(Number(key.split("/").pop()), this.whole(key));
  }

  owner(copal, passphrase) {
    for (const folder of this.names("keys/")) {
      try {
        return copal.Owner.open(this.whole(`${folder}/a`), passphrase);
      } catch (error) {
        if (!["slot-other", "wrong-passphrase"].includes(error.code)) throw error;
      }
    }
    throw new Error("no slot opens");
  }

  /** The newest root and the indexes of these domains. */
  view(copal, domains) {
    const view = new copal.View(this.names("roots/")[0] ?? null, domains);
    this.fill(view);
    return view;
  }

  fill(view) {
    for (let needs = view.needs(); needs.length > 0; needs = view.needs()) {
      for (const read of needs) view.supply(read.key, this.read(read));
    }
  }

  library(copal, owner, descriptor, view) {
    for (const { domain } of view.snapshots()) view.want(domain);
    this.fill(view);
    const library = new copal.Library(owner, descriptor, view);
    for (const client of library.neededClients()) library.supplyClient(client, this.records(client));
    for (const key of library.neededManifests()) library.supplyManifest(key, this.whole(key));
    return library;
  }

  /** Repeats a call until it needs nothing. */
  ask(library, call) {
    for (;;) {
      const answer = call();
      if (answer.needs.length === 0) return answer;
      for (const read of answer.needs) library.supply(read, this.read(read));
    }
  }

  /** Restores entries: every entry, with the bytes of files; and what is damaged. With `crypto`, its cipher opens the blocks. */
  async restore(library, tree, ids, crypto = null) {
    const restore = tree.restore(ids, 0, null);
    const [entries, whole, damaged] = [[], new Set(), []];
    for (;;) {
      const window = this.ask(library, () => restore.next());
      damaged.push(...window.damaged);
      for (const entry of window.entries) {
        entries[entry.file] = { ...entry, bytes: new Uint8Array(entry.size) };
      }
      for (const piece of window.pieces) entries[piece.file].bytes.set(piece.bytes, piece.offset);
      for (const [at, read] of window.reads.entries()) {
        const bytes = this.read(read);
        const pieces = crypto ? await this.opened(library, restore, at, bytes, crypto) : [];
        for (const piece of [...pieces, ...restore.take(at, bytes)]) entries[piece.file].bytes.set(piece.bytes, piece.offset);
      }
      for (const file of window.ends) whole.add(file);
      if (window.isDone) break;
    }
    if (whole.size + damaged.length !== entries.length) throw new Error(`${entries.length - whole.size} entries are not whole`);
    return { entries, damaged };
  }

  /** What a cipher of the host's opens of a read. */
  async opened(library, restore, at, bytes, crypto) {
    const pieces = [];
    for (const { start, end, session, additionalData } of restore.sealed(at)) {
      const secret = library.takeKey(session);
      if (secret) this.keys.set(session, await crypto.subtle.importKey("raw", secret, "AES-GCM", false, ["decrypt"]));
      const iv = bytes.subarray(start, start + 12);
      const terms = { name: "AES-GCM", iv, additionalData };
      const opened = await crypto.subtle.decrypt(terms, this.keys.get(session), bytes.subarray(start + 12, end)).catch(() => null);
      this.opens.push(opened !== null);
      if (opened) pieces.push(...restore.takeOpened(at, start, iv, new Uint8Array(opened)));
    }
    return pieces;
  }
}
