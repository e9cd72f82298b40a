// Runs the scripted session in Node and prints its report: node node.mjs <pkg> <golden report>
import { readFile } from "node:fs/promises";
import { webcrypto } from "node:crypto";
import { resolve } from "node:path";
import { start, startSealing } from "./engine.mjs";
import { givenOf, run } from "./session.mjs";

const [folder, golden] = process.argv.slice(2).map((path) => resolve(path));
const [{ copal }, { copal: sealing }] = [await start(folder), await startSealing(folder)];
const lines = await run(copal, sealing, givenOf(await readFile(golden, "utf8")), webcrypto);
process.stdout.write(lines.map((line) => `${line}\n`).join(""));
