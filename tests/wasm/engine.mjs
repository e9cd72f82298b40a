// The package that `cargo xtask wasm` makes, as a page loads it.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** One of the engine's two files, compiled. */
export function compiled(pkg, name) {
  return WebAssembly.compile(readFileSync(join(pkg, name)));
}

/** The engine with its first file alone, as workers have it; and its memory. */
export async function first(pkg) {
  const copal = await import(pathToFileURL(resolve(pkg, "copal.js")));
  return { copal, memory: await copal.load(await compiled(pkg, "copal_first.wasm")) };
}

/** The whole engine, and its memory. */
export async function whole(pkg) {
  const engine = await first(pkg);
  await engine.copal.loadRest(await compiled(pkg, "copal_rest.wasm"));
  return engine;
}
