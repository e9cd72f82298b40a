// The package that `cargo xtask wasm` makes, as a page loads it.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** The engine, started, and its memory. */
export async function start(pkg) {
  const copal = await import(pathToFileURL(resolve(pkg, "copal.js")));
  const { memory } = copal.initSync({ module: readFileSync(join(pkg, "copal_bg.wasm")) });
  return { copal, memory };
}
