// Backs a folder up through the JavaScript face into a directory, sealed by Node's WebCrypto:
//     node roundtrip.mjs <pkg> <repository> <passphrase> <folder> [kept tree]
// Prints what the run tells; the kept tree is read and written again. Ingest is the command's matter.
import { webcrypto as crypto } from "node:crypto";
import { existsSync, lstatSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Directory } from "./directory.mjs";
import { start, startSealing } from "./engine.mjs";
import { Saving } from "./saving.mjs";

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
const terms = { host: "browser", paths: [name], label: name };
const saving = await Saving.begin({ copal, sealing, crypto, repository, descriptor, view, client, terms });
const { backup } = saving;
if (keptFile && existsSync(keptFile) && !backup.parent(new Uint8Array(readFileSync(keptFile)))) throw new Error("no kept tree");
await saving.unlock();

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
    await saving.content(facts, [readFileSync(join(folder, "..", facts.path))]);
    if (taken === Math.floor(found.length / 2)) {
      backup.checkpoint();
      await saving.claim();
    }
  }
}
backup.finish();
const snapshot = await saving.claim();
if (keptFile) writeFileSync(keptFile, Buffer.concat(saving.kept));
console.log(JSON.stringify({ snapshot, ...backup.tally }));
