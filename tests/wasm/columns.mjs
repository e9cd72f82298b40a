// What the engine takes of columns, and refuses: node columns.mjs PKG SESSION
// SESSION is the golden session, with whose repository it begins.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { start } from "./engine.mjs";
import { givenOf } from "./session.mjs";

const [pkg, session] = process.argv.slice(2);
const { copal } = await start(pkg);
const given = givenOf(readFileSync(session, "utf8"));
const descriptor = new copal.Descriptor(1, given.descriptor);
const NOW = 1_790_000_000_000;
const owner = copal.Owner.open(given.slot, "correct horse battery staple");
const { client } = owner.register(descriptor, "columns", NOW, new Uint8Array(80).fill(1));
const view = new copal.View(null, [client.facts.domain]);
const begin = (compressor) => new copal.Backup(client, descriptor, view, {
  random: new Uint8Array(128).fill(2), keptRandom: new Uint8Array(16).fill(3), now: NOW, host: "", paths: [],
  label: "columns", tags: [], program: "", user: "", compressor,
});
assert.throws(() => begin(undefined), (error) => error.code === "misuse");
const backup = begin({ compress: () => undefined });
backup.manifest(undefined);

const file = (path, size = 1, modified = NOW) => ({ path, size, modified });
const refused = (columns, code) => assert.throws(() => backup.compare(columns), (error) => error.code === code);
const columns = copal.inColumns([file("A/a"), file("A/b")]);

// Nothing of columns that do not fit each other is compared.
refused({ ...columns, sizes: new Float64Array(1) }, "misuse");
refused({ ...columns, times: new Float64Array(3) }, "misuse");
refused({ ...columns, kinds: new Uint8Array(1) }, "misuse");
refused({ ...columns, kinds: new Uint8Array(0), sizes: new Float64Array(0), times: new Float64Array(0) }, "misuse");
refused({ ...columns, sizes: [1, 2] }, "misuse");
refused({ ...columns, paths: "A/a" }, "misuse");
refused(copal.inColumns([file("A/a\0b")]), "misuse");
refused(copal.inColumns([file("A/a", NaN)]), "misuse");
refused(copal.inColumns([{ path: "A/a", size: 1 }]), "misuse");
refused(copal.inColumns([file("A//a")]), "bad-path");
assert.throws(() => backup.takeSame(1), (error) => error.code === "misuse");

assert.deepEqual(backup.compare(copal.inColumns([])), new Uint8Array(0));
// In the order of UTF-8, where JavaScript's is another, and with directories among them.
const found = [
  { ...file("A", 0), kind: "directory" }, { ...file("A/\u{ff5e}", 0, 0), kind: "directory" }, file("A/\u{ff5e}/Gr\u00fc\u00dfe"), file("A/\u{1f600}"), file("A/z".padEnd(3000, "z")),
].sort((a, b) => copal.comparePaths(a.path, b.path));
assert.deepEqual([...backup.compare(copal.inColumns(found))], found.map(({ kind }) => (kind === "directory" ? 0 : 1)));
refused(copal.inColumns([found[0]]), "out-of-order");
for (const [at, facts] of found.entries()) {
  if (facts.kind === "directory") backup.takeSame(1);
  else if (at % 2 === 0) backup.inline(facts, Uint8Array.of(at));
  else {
    // What is taken under another path is refused, so the path has come as it was.
    backup.begin();
    assert.throws(() => backup.end({ ...facts, path: `${facts.path}-` }), (error) => error.code === "misuse");
    backup.fail();
  }
}
assert.throws(() => backup.takeSame(1), (error) => error.code === "misuse");
backup.takeSame(0);
assert.equal(backup.tally.directories, 2);
