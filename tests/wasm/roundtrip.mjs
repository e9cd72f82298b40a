// Backs a folder up through the JavaScript face into a directory, sealed by Node's WebCrypto:
//     node roundtrip.mjs <pkg> <repository> <passphrase> <folder> [kept tree]
// Prints what the run tells; the kept tree is read and written again. Ingest is the command's matter.
import { createHash, webcrypto as crypto } from "node:crypto";
import { existsSync, lstatSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Directory } from "./directory.mjs";
import { start, startSealing } from "./engine.mjs";
import { Held } from "./session.mjs";

const [pkg, place, passphrase, folder, keptFile] = process.argv.slice(2);
const [{ copal }, { copal: sealing }] = [await start(pkg), await startSealing(pkg)];
const random = (length) => crypto.getRandomValues(new Uint8Array(length));

const repository = new Directory(place);
const owner = repository.owner(copal, passphrase);
const descriptor = repository.descriptor(copal);
const clientFile = keptFile && `${keptFile}.client`;
let client;
if (clientFile && existsSync(clientFile)) {
  client = owner.resume(new Uint8Array(readFileSync(clientFile)));
} else {
  const joined = owner.register(descriptor, "node", Date.now(), random(80));
  repository.create(joined.record.key, joined.record.bytes);
  client = joined.client;
  if (clientFile) writeFileSync(clientFile, client.keep(random(16)));
}
client.check(descriptor, repository.records(client.facts.client));

const view = repository.view(copal, [client.facts.domain]);
const name = basename(folder);
const backup = new copal.Backup(client, descriptor, view, {
  random: random(128),
  keptRandom: random(16),
  now: Date.now(),
  host: "browser",
  paths: [name],
  label: name,
  tags: [],
  program: copal.version(),
  user: "",
  compressor: new sealing.Compressor(),
});
for (let key = backup.nextManifest(); key !== null; key = backup.nextManifest()) backup.manifest(repository.whole(key));
if (keptFile && existsSync(keptFile) && !backup.parent(new Uint8Array(readFileSync(keptFile)))) throw new Error("no kept tree");
const secret = backup.takeBlockKey();
const key = await crypto.subtle.importKey("raw", secret, "AES-GCM", false, ["encrypt", "decrypt"]);
secret.fill(0);
const { parameters } = descriptor.facts;
const chunker = new sealing.Chunker(client.chunkerKey(), parameters);
const sealer = chunker.sealer(backup.sealerKey(), parameters.zstdLevel);
const held = new Held();
const kept = [];

async function act() {
  for (const action of backup.actions()) {
    if (action.type === "store") {
      const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", action.bytes));
      repository.create(backup.named(action.number, sha256), action.bytes);
      continue;
    }
    const { counter, kind, ids, lengths } = action;
    const raw = action.raw ?? held.block(lengths);
    const { plaintext, iv, additionalData } = sealer.prepare(counter, kind, ids, lengths, raw);
    const terms = { name: "AES-GCM", iv, additionalData };
    const ciphertext = await crypto.subtle.encrypt(terms, key, plaintext);
    sealer.opened(counter, new Uint8Array(await crypto.subtle.decrypt(terms, key, ciphertext)));
    backup.sealed(counter, Buffer.concat([iv, new Uint8Array(ciphertext)]));
  }
}

async function claim() {
  do await act();
  while (!backup.isIdle);
  await act();
  let snapshot = null;
  while (backup.nextClaim() !== null) {
    const claimed = backup.claimed(null);
    repository.create(claimed.key, claimed.bytes);
    if (createHash("sha256").update(claimed.bytes).digest("hex") !== Buffer.from(claimed.sha256).toString("hex")) throw new Error("hash");
    snapshot = claimed.snapshot ?? snapshot;
  }
  const part = backup.takeKept();
  if (part) kept.push(part);
  return snapshot;
}

const found = [];
const scan = (path, id) => {
  const stat = lstatSync(path);
  if (stat.isDirectory()) {
    found.push({ path: id, size: 0, modified: 0, kind: "directory" });
    for (const below of readdirSync(path)) scan(join(path, below), `${id}/${below}`);
  } else if (stat.isFile()) {
    found.push({ path: id, size: stat.size, modified: Math.floor(stat.mtimeMs) });
  }
};
scan(folder, name);
found.sort((a, b) => copal.comparePaths(a.path, b.path));
let taken = 0;
for (let at = 0; at < found.length; at += 1000) {
  const batch = found.slice(at, at + 1000);
  const verdicts = backup.compare(copal.inColumns(batch));
  for (const [number, facts] of batch.entries()) {
    taken += 1;
    if (verdicts[number] === 0) {
      backup.takeSame(1);
      continue;
    }
    const bytes = new Uint8Array(readFileSync(join(folder, "..", facts.path)));
    if (bytes.length <= parameters.inlineMax) {
      backup.inline(facts, bytes);
    } else {
      backup.begin();
      for (let start = 0; start < bytes.length; ) {
        const end = Math.min(start + (1 << 20), bytes.length);
        const cut = chunker.cut(bytes.subarray(start, end), end === bytes.length);
        held.add(bytes.subarray(start, end), cut.lengths, backup.chunks(cut.ids, cut.lengths));
        await act();
        start += cut.consumed;
      }
      backup.end(facts);
    }
    await act();
    if (taken === Math.floor(found.length / 2)) {
      backup.checkpoint();
      await claim();
    }
  }
}
backup.finish();
const snapshot = await claim();
if (keptFile) writeFileSync(keptFile, Buffer.concat(kept));
console.log(JSON.stringify({ snapshot, ...backup.tally }));
