// Reads the golden repository through the JavaScript face: node golden.mjs <pkg> <tests/golden>
// Every snapshot is restored and compared with what is written down of it.
import assert from "node:assert/strict";
import { createHash, webcrypto } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { Directory } from "./directory.mjs";
import { start } from "./engine.mjs";

const [pkg, golden] = process.argv.slice(2).map((path) => resolve(path));
const { copal } = await start(pkg);

const repository = new Directory(join(golden, "repository"));
assert.throws(() => repository.owner(copal, "silver"), /no slot opens/);
const owner = repository.owner(copal, "golden");
const descriptor = repository.descriptor(copal);
owner.check(descriptor);
const view = repository.view(copal, [descriptor.facts.sharedDomain]);
const library = repository.library(copal, owner, descriptor, view);
const snapshots = library.snapshots();
const written = readdirSync(join(golden, "trees")).map((name) => name.replace(".json", ""));
assert(written.every((id) => snapshots.some((snapshot) => snapshot.id === id)), "every kept snapshot is listed");
assert.deepEqual(library.problems(), []);

let files = 0;
for (const snapshot of snapshots) {
  const latest = written.includes(snapshot.id) ? `trees/${snapshot.id}.json` : "tree.json";
  const expected = JSON.parse(readFileSync(join(golden, latest), "utf8"));
  const tree = library.tree(snapshot.id);
  const { entries, damaged } = await repository.restore(library, tree, [""]);
  assert.deepEqual(damaged, []);
  assert.deepEqual(await repository.restore(library, tree, [""], webcrypto), { entries, damaged }, "whichever cipher opens");
  assert.equal(entries.length, expected.length, snapshot.id);
  for (const [at, entry] of entries.entries()) {
    const told = expected[at];
    assert.equal(entry.kind === "other" ? "other" : entry.kind, kind(told.type), told.path);
    assert.equal(entry.mode, told.mode, told.path);
    assert.equal(entry.size, told.size, told.path);
    assert.equal(Math.round(entry.modified), Math.round(told.mtime_ns / 1e6), told.path);
    if (told.type !== "file") continue;
    assert.equal(createHash("sha256").update(entry.bytes).digest("hex"), told.sha256, told.path);
    const found = repository.ask(library, () => tree.entry(entry.id));
    assert.equal(found.entries[0].id, entry.id);
    files += 1;
  }
  const listed = walk(tree, "");
  assert.deepEqual(listed, entries.map((entry) => entry.id).filter((id) => id !== ""), "listed directory by directory");
}
assert(repository.opens.length > 0 && repository.opens.every(Boolean), "WebCrypto opens every block");

// A bit of the first block of every read is flipped: both ways the same is missing, in the same words.
const sound = repository.read.bind(repository);
repository.read = (read) => {
  const bytes = sound(read);
  if (bytes && read.bytes) bytes[20] ^= 1;
  return bytes;
};
let missing = 0;
for (const { id } of snapshots) {
  const tree = library.tree(id);
  const { entries, damaged } = await repository.restore(library, tree, [""]);
  assert.deepEqual(await repository.restore(library, tree, [""], webcrypto), { entries, damaged });
  assert(damaged.every(({ why }) => why.includes("is forged")), id);
  missing += damaged.length;
}
assert(missing > 0);
assert(repository.opens.includes(false));
console.log(`${snapshots.length} snapshots, ${files} files`);

function walk(tree, directory) {
  const ids = [];
  for (let next = null; ; ) {
    const listing = repository.ask(library, () => tree.list(directory, next, 3));
    assert.deepEqual(listing.damaged, []);
    for (const entry of listing.entries) {
      ids.push(entry.id);
      if (entry.kind === "directory") ids.push(...walk(tree, entry.id));
    }
    next = listing.next;
    if (next === null) return ids;
  }
}

function kind(type) {
  return ["file", "directory", "symlink"].includes(type) ? type : "other";
}
