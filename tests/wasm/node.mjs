// Runs the scripted session in Node and prints its report: node node.mjs <pkg> <golden report>
import { readFile } from "node:fs/promises";
import { webcrypto } from "node:crypto";
import { resolve } from "node:path";
import { start } from "./engine.mjs";
import { givenOf, run } from "./session.mjs";

const [folder, golden] = process.argv.slice(2).map((path) => resolve(path));
const { copal } = await start(folder);
const lines = await run(copal, givenOf(await readFile(golden, "utf8")), webcrypto);
process.stdout.write(lines.map((line) => `${line}\n`).join(""));
