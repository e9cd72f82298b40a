// Uses the package as npm installs it, on a repository in memory: opens it, lists, reads a file, and backs a stream up.
//     node npm.mjs <folder with node_modules> <repository> <passphrase> <name of the stream>
// What is written goes to the repository's directory in the end; ingest is the command's matter.
import assert from "node:assert/strict";
import { webcrypto as crypto } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { Directory } from "./directory.mjs";
import { Saving } from "./saving.mjs";

const [installed, place, passphrase, streamName] = process.argv.slice(2);
const find = createRequire(join(resolve(installed), "program.js")).resolve;
const start = async (name, specifier) => {
  const module = await import(pathToFileURL(find(specifier)));
  module.initSync({ module: readFileSync(find(`copal/${name}_bg.wasm`)) });
  return module;
};
const copal = await start("copal", "copal");
const sealing = await start("sealing", "copal/sealing");
const { version } = JSON.parse(readFileSync(find("copal/package.json"), "utf8"));
assert(copal.version().endsWith(version), `${copal.version()} is not ${version}`);

/** Objects by their keys, as in S3. */
class Memory extends Directory {
  objects = new Map();

  read({ key, start, end }) {
    return this.objects.get(key)?.slice(start, end ?? undefined) ?? null;
  }

  create(key, bytes) {
    assert(!this.objects.has(key), `${key} is there`);
    this.objects.set(key, new Uint8Array(bytes));
  }

  names(prefix) {
    const below = [...this.objects.keys()].filter((key) => key.startsWith(prefix));
    return [...new Set(below.map((key) => prefix + key.slice(prefix.length).split("/")[0]))].sort();
  }
}

const repository = new Memory(place);
for (const file of readdirSync(place, { recursive: true, withFileTypes: true })) {
  const path = join(file.parentPath, file.name);
  if (file.isFile()) repository.objects.set(path.slice(place.length + 1), new Uint8Array(readFileSync(path)));
}
const before = new Set(repository.objects.keys());

const owner = repository.owner(copal, passphrase);
const descriptor = repository.descriptor(copal);
owner.check(descriptor);
const view = repository.view(copal, [descriptor.facts.sharedDomain]);
const library = repository.library(copal, owner, descriptor, view);
const [snapshot] = library.snapshots();
const tree = library.tree(snapshot.id);

/** The first file below a directory, found by listing. */
function firstFile(directory) {
  const { entries } = repository.ask(library, () => tree.list(directory, null, 100));
  for (const entry of entries) {
    const found = entry.kind === "directory" ? firstFile(entry.id) : entry;
    if (found?.kind === "file" && found.size > 0) return found;
  }
  return null;
}

const file = firstFile("");
const { entries: [read] } = await repository.restore(library, tree, [file.id], crypto);
assert.deepEqual(Buffer.from(read.bytes), readFileSync(`/${file.path}`));

const { client, record } = owner.register(descriptor, "node", Date.now(), crypto.getRandomValues(new Uint8Array(80)));
repository.create(record.key, record.bytes);
const terms = { host: "node", paths: [streamName], label: "" };
const session = { copal, sealing, crypto, repository, descriptor, client, terms };
const saving = await Saving.begin({ ...session, view: repository.view(copal, [client.facts.domain]) });
await saving.unlock();
assert.equal(saving.backup.compare(copal.inColumns([{ path: streamName, size: 0, modified: 0 }]))[0], 1);
await saving.content({ path: streamName, modified: Date.now() }, Readable.from(lines()));
saving.backup.finish();
const id = await saving.claim();
const disk = new Directory(place);
for (const [key, bytes] of repository.objects) if (!before.has(key)) disk.create(key, bytes);
console.log(id);

/** Three million bytes, ten lines at a time. */
function* lines() {
  for (let at = 0; at < 300_000; at += 10) {
    const ten = Array.from({ length: 10 }, (_, line) => `${String(at + line).padStart(9, "0")}\n`);
    yield Buffer.from(ten.join(""));
  }
}
