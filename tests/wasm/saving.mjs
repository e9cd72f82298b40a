// A backup through the JavaScript face, sealed by the host's WebCrypto, into whatever has `create(key, bytes)`.
import { Held } from "./session.mjs";

export class Saving {
  /** Begins a session of the client. `terms`: host, paths, label. */
  static async begin({ copal, sealing, crypto, repository, descriptor, view, client, terms }) {
    const random = (length) => crypto.getRandomValues(new Uint8Array(length));
    const compressor = new sealing.Compressor();
    const given = { random: random(128), keptRandom: random(16), now: Date.now(), tags: [], program: copal.version(), user: "" };
    const backup = new copal.Backup(client, descriptor, view, { ...given, ...terms, compressor });
    for (let key = backup.nextManifest(); key !== null; key = backup.nextManifest()) backup.manifest(repository.whole(key));
    return new Saving({ sealing, crypto, repository, backup, client, parameters: descriptor.facts.parameters });
  }

  constructor(parts) {
    Object.assign(this, parts);
    [this.held, this.kept] = [new Held(), []];
  }

  /** To be called once, when the parent is known and before the first content. */
  async unlock() {
    const secret = this.backup.takeBlockKey();
    this.key = await this.crypto.subtle.importKey("raw", secret, "AES-GCM", false, ["encrypt", "decrypt"]);
    secret.fill(0);
    this.chunker = new this.sealing.Chunker(this.client.chunkerKey(), this.parameters);
    this.sealer = this.chunker.sealer(this.backup.sealerKey(), this.parameters.zstdLevel);
  }

  /** Saves a file whose bytes come in pieces of any size, how many is not known before. */
  async content(facts, pieces) {
    let [waiting, size, isBegun] = [Buffer.alloc(0), 0, false];
    const cut = async (isLast) => {
      if (!isBegun) this.backup.begin();
      isBegun = true;
      const window = new Uint8Array(waiting.subarray(0, WINDOW));
      const { ids, lengths, consumed } = this.chunker.cut(window, isLast);
      this.held.add(window, lengths, this.backup.chunks(ids, lengths));
      waiting = waiting.subarray(consumed);
      await this.act();
    };
    for await (const piece of pieces) {
      [waiting, size] = [Buffer.concat([waiting, piece]), size + piece.length];
      while (waiting.length > WINDOW) await cut(false);
    }
    if (!isBegun && size <= this.parameters.inlineMax) {
      this.backup.inline({ ...facts, size }, new Uint8Array(waiting));
    } else {
      while (waiting.length > 0) await cut(true);
      this.backup.end({ ...facts, size });
    }
    await this.act();
  }

  /** Does what the session asks for. */
  async act() {
    for (const action of this.backup.actions()) {
      if (action.type === "store") {
        const sha256 = new Uint8Array(await this.crypto.subtle.digest("SHA-256", action.bytes));
        this.repository.create(this.backup.named(action.number, sha256), action.bytes);
        continue;
      }
      const { counter, kind, ids, lengths } = action;
      const raw = action.raw ?? this.held.block(lengths);
      const { plaintext, iv, additionalData } = this.sealer.prepare(counter, kind, ids, lengths, raw);
      const terms = { name: "AES-GCM", iv, additionalData };
      const ciphertext = await this.crypto.subtle.encrypt(terms, this.key, plaintext);
      this.sealer.opened(counter, new Uint8Array(await this.crypto.subtle.decrypt(terms, this.key, ciphertext)));
      this.backup.sealed(counter, Buffer.concat([iv, new Uint8Array(ciphertext)]));
    }
  }

  /** Writes the manifests; gives the snapshot's id, if there is one by now. */
  async claim() {
    do await this.act();
    while (!this.backup.isIdle);
    await this.act();
    let snapshot = null;
    while (this.backup.nextClaim() !== null) {
      const claimed = this.backup.claimed(null);
      this.repository.create(claimed.key, claimed.bytes);
      const sha256 = Buffer.from(await this.crypto.subtle.digest("SHA-256", claimed.bytes));
      if (!sha256.equals(Buffer.from(claimed.sha256))) throw new Error("hash");
      snapshot = claimed.snapshot ?? snapshot;
    }
    const part = this.backup.takeKept();
    if (part) this.kept.push(part);
    return snapshot;
  }
}

const WINDOW = 1 << 20;
