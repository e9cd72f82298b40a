// A tab of Chromium with the pages of this folder, and what its processes have taken.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, rmdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";
import { build } from "vite";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

/** Does some work with a browser and a page of it. */
export async function withTab(work) {
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
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(0);
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForSelector("body[data-ready=yes]", { state: "attached" });
    return await work(browser, page);
  } finally {
    await browser.close();
    server.close();
    rmSync(outDir, { recursive: true });
  }
}

export async function processes(browser) {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  await devtools.detach();
  return processInfo;
}

/** Processor seconds of every thread of the browser so far. */
export async function processors(browser) {
  const all = {};
  for (const { id, type } of await processes(browser)) {
    for (const thread of threads(id)) {
      try {
        const name = readFileSync(`/proc/${id}/task/${thread}/comm`, "utf8").trim();
        const nanoseconds = Number(readFileSync(`/proc/${id}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
        all[`${type} ${name} ${thread}`] = nanoseconds / 1e9;
      } catch {}
    }
  }
  return all;
}

/** Gives every thread of the browser at most half of a processor, as on a machine with many that are half as fast: so that
 * workers and what serves them need not share the few that this one has. Needs the right to make groups (cgroup v1, `cpu`).
 * What is called in the end stops that. */
export async function halved(browser) {
  const root = `/sys/fs/cgroup/cpu/copal-measured-${process.pid}`;
  mkdirSync(root);
  const known = new Map();
  const ids = (await processes(browser)).map(({ id }) => id);
  const look = () => {
    for (const id of ids) {
      for (const thread of threads(id)) {
        if (known.has(thread)) continue;
        const group = join(root, thread);
        try {
          mkdirSync(group);
          known.set(thread, group);
          writeFileSync(join(group, "cpu.cfs_period_us"), "4000");
          writeFileSync(join(group, "cpu.cfs_quota_us"), "2000");
          writeFileSync(join(group, "tasks"), thread);
        } catch (error) {
          // A thread that has ended.
          if (error.code !== "ESRCH") throw error;
        }
      }
    }
  };
  look();
  const timer = setInterval(look, 10);
  return () => {
    clearInterval(timer);
    for (const [thread, group] of known) {
      try {
        writeFileSync("/sys/fs/cgroup/cpu/tasks", thread);
      } catch {}
      rmdirSync(group);
    }
    rmdirSync(root);
  };
}

function threads(id) {
  try {
    return readdirSync(`/proc/${id}/task`);
  } catch {
    return [];
  }
}

/** By thread, those that took more than a little. Threads that have ended are not told. */
export function spent(before, after) {
  const all = Object.entries(after).map(([name, seconds]) => [name, seconds - (before[name] ?? 0)]);
  return Object.fromEntries(all.filter(([, seconds]) => seconds > 0.02).sort((a, b) => b[1] - a[1]).map(([name, seconds]) => [name, Number(seconds.toFixed(2))]));
}
