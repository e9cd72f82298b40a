// What a tab takes for a backup, in Chromium, uploads answered in the page:
//     node measure.mjs GOLDEN-SESSION BASE-FILE speed MB ROUNDS
//     node measure.mjs GOLDEN-SESSION FOLDER folder ROUNDS
//     node measure.mjs GOLDEN-SESSION BASE-FILE memory GB
// Prints, as JSON, seconds and processor seconds by thread with one worker and with two; or the most memory of the tab.
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { build } from "vite";

const [golden, chosen, what, ...numbers] = process.argv.slice(2);
const given = Object.fromEntries([...readFileSync(golden, "utf8").matchAll(/^given (\w+) ([0-9a-f]+)$/gm)].map(([, name, digits]) => [name, digits]));
const FILE = 16 << 20;
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

const outDir = mkdtempSync(join(tmpdir(), "copal-measured-"));
await build({
  configFile: false,
  root: import.meta.dirname,
  logLevel: "error",
  worker: { format: "es" },
  build: { rolldownOptions: { input: ["index.html", "maker.html"].map((name) => join(import.meta.dirname, name)) }, outDir, emptyOutDir: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
});
const server = createServer((request, response) => {
  const path = request.url === "/" ? "/index.html" : request.url.split("?")[0];
  try {
    const body = readFileSync(join(outDir, path));
    response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "text/plain" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const browser = await chromium.launch({
  executablePath: process.env.COPAL_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--js-flags=--expose-gc"],
});
let page;
try {
  page = await browser.newPage();
  page.setDefaultTimeout(0);
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForSelector("body[data-ready=yes]", { state: "attached" });
  const isFolder = what === "folder";
  await page.setInputFiles(isFolder ? "#folder" : "#file", resolve(chosen), { timeout: 0 });
  const run = (workers, source) => page.evaluate((order) => window.measure(order), { workers, given, source });
  if (what === "memory") {
    const files = Math.ceil((Number(numbers[0]) * 1e9) / FILE);
    const id = await renderer();
    const before = peak(id);
    const outcome = await run(2, { files, bytes: FILE });
    console.log(JSON.stringify({ ...outcome, before, most: peak(id) }));
  } else {
    const source = isFolder ? "folder" : { files: Math.ceil((Number(numbers[0]) * 1e6) / FILE), bytes: FILE };
    const rounds = Number(numbers.at(-1));
    const best = {};
    for (let round = 0; round < rounds; round++) {
      for (const workers of [1, 2]) {
        const before = await processors();
        const outcome = await run(workers, source);
        const threads = spent(before, await processors());
        if (!best[workers] || outcome.seconds < best[workers].seconds) best[workers] = { ...outcome, threads };
      }
    }
    console.log(JSON.stringify({ one: best[1], two: best[2], ratio: best[1].seconds / best[2].seconds }));
  }
} finally {
  await browser.close();
  server.close();
  rmSync(outDir, { recursive: true });
}

async function processes() {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  await devtools.detach();
  return processInfo;
}

/** The page's process: the one that is busy when the page is. The maker's is another one. */
async function renderer() {
  const before = new Map((await processes()).map(({ id, cpuTime }) => [id, cpuTime]));
  await page.evaluate(() => {
    for (const begun = performance.now(); performance.now() - begun < 500; );
  });
  const busy = ({ id, type, cpuTime }) => (type === "renderer" ? cpuTime - (before.get(id) ?? 0) : 0);
  return (await processes()).reduce((best, one) => (busy(one) > busy(best) ? one : best)).id;
}

/** The most memory that a process has had since it was asked the last time, in bytes. */
function peak(id) {
  const most = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, "utf8"))[1];
  writeFileSync(`/proc/${id}/clear_refs`, "5");
  return Number(most) * 1024;
}

/** Processor seconds of every thread of the browser so far. */
async function processors() {
  const all = {};
  for (const { id, type } of await processes()) {
    for (const thread of readdirSync(`/proc/${id}/task`)) {
      try {
        const name = readFileSync(`/proc/${id}/task/${thread}/comm`, "utf8").trim();
        const nanoseconds = Number(readFileSync(`/proc/${id}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
        all[`${type} ${name} ${thread}`] = nanoseconds / 1e9;
      } catch {}
    }
  }
  return all;
}

/** By thread, those that took more than a little. Threads that have ended are not told: the workers' are in `spent`. */
function spent(before, after) {
  const all = Object.entries(after).map(([name, seconds]) => [name, seconds - (before[name] ?? 0)]);
  return Object.fromEntries(all.filter(([, seconds]) => seconds > 0.02).sort((a, b) => b[1] - a[1]).map(([name, seconds]) => [name, Number(seconds.toFixed(2))]));
}
