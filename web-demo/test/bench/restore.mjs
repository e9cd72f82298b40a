// What a tab takes to restore the newest snapshot of a repository, in Chromium, a lone file as itself and all else as a zip:
//     node restore.mjs REPOSITORY PASSPHRASE ROUNDS
// Prints, as JSON, the fastest round: seconds, processor seconds by thread, and the most memory of the tab.
import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { watch } from "../memory.mjs";
import { processes, processors, spent, withTab } from "./tab.mjs";

const [repository, passphrase, rounds] = process.argv.slice(2);

/** Hands out objects, and their names below a prefix. */
function stored(request, response) {
  const [, what, name] = /^\/(names|repository)\/([\w./-]*)$/.exec(request.url) ?? [];
  if (what === undefined) return false;
  const path = join(repository, name);
  if (!existsSync(path)) response.writeHead(404).end();
  else if (what === "names") response.end(JSON.stringify(below(name)));
  else response.end(part(path, request.headers.range));
  return true;
}

function below(prefix) {
  const found = readdirSync(join(repository, prefix), { recursive: true, encoding: "utf8" }).map((name) => `${prefix}${name}`);
  return found.filter((name) => statSync(join(repository, name)).isFile()).sort();
}

function part(path, range) {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
  if (first === undefined) return readFileSync(path);
  const bytes = Buffer.alloc(Number(last) - Number(first) + 1);
  const file = openSync(path, "r");
  const length = readSync(file, bytes, 0, bytes.length, Number(first));
  closeSync(file);
  return bytes.subarray(0, length);
}

/** Looks at the processes that draw: the tab's has more than any other. What is called in the end gives the most that it had. */
async function memory(browser) {
  const watches = (await processes(browser)).filter(({ type }) => type === "renderer").map(({ id }) => watch(id));
  return () => watches.map((end) => end()).sort((one, other) => other.own - one.own)[0];
}

await withTab(async (browser, page) => {
  await page.evaluate((passphrase) => window.unlock(passphrase), passphrase);
  let best = null;
  for (let left = Number(rounds); left > 0; left--) {
    const most = await memory(browser);
    const before = await processors(browser);
    const restored = await page.evaluate(() => window.restore());
    const threads = spent(before, await processors(browser));
    const round = { ...restored, threads, most: most() };
    if (best === null || round.seconds < best.seconds) best = round;
  }
  console.log(JSON.stringify(best));
}, stored);
