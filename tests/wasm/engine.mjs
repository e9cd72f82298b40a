// The package that `cargo xtask wasm` makes, as a page loads it.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** The engine, started, and its memory. */
export async function start(pkg) {
  return startOne(pkg, "copal");
}

/** The module for sealing, which has a memory of its own. */
export async function startSealing(pkg) {
  return startOne(pkg, "sealing");
}

/** The module for administration, which has a memory of its own. */
export async function startAdministration(pkg) {
  return startOne(pkg, "administration");
}

async function startOne(pkg, name) {
  const copal = await import(pathToFileURL(resolve(pkg, `${name}.js`)));
  const { memory } = copal.initSync({ module: readFileSync(join(pkg, `${name}_bg.wasm`)) });
  return { copal, memory };
}
