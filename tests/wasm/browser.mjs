// Runs the scripted session in Chromium and prints its report: node browser.mjs <pkg> <golden report> <chromium>
import { spawn } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [folder, golden] = process.argv.slice(2, 4).map((path) => resolve(path));
const chromium = process.argv[4];
const PAGE = `<!doctype html><meta charset="utf-8"><script type="module" src="/page.mjs"></script>`;
const SCRIPT = `
import * as copal from "/pkg/copal.js";
import * as sealing from "/pkg/sealing.js";
import { givenOf, run } from "/session.mjs";
const answer = async () => {
  for (const [engine, name] of [[copal, "copal"], [sealing, "sealing"]]) {
    engine.initSync({ module: await WebAssembly.compileStreaming(fetch(\`/pkg/\${name}_bg.wasm\`)) });
  }
  return (await run(copal, sealing, givenOf(await (await fetch("/golden")).text()), crypto)).join("\\n") + "\\n";
};
const text = await answer().then((lines) => lines, (error) => "FAILED " + (error.stack ?? error) + "\\n");
await fetch("/report", { method: "POST", body: text });
`;
const files = {
  "/": [PAGE, "text/html"],
  "/page.mjs": [SCRIPT, "text/javascript"],
  "/session.mjs": [await readFile(join(dirname(fileURLToPath(import.meta.url)), "session.mjs")), "text/javascript"],
  "/golden": [await readFile(golden), "text/plain"],
};
for (const name of await readdir(folder, { recursive: true })) {
  if (!/\.(js|wasm)$/.test(name)) continue;
  files[`/pkg/${name}`] = [await readFile(join(folder, name)), name.endsWith(".wasm") ? "application/wasm" : "text/javascript"];
}

const report = Promise.withResolvers?.() ?? (() => {
  const settled = {};
  settled.promise = new Promise((resolve, reject) => Object.assign(settled, { resolve, reject }));
  return settled;
})();
const server = createServer((request, response) => {
  if (request.method === "POST") {
    let text = "";
    request.setEncoding("utf8").on("data", (part) => (text += part)).on("end", () => report.resolve(text));
    response.end();
    return;
  }
  const [body, type] = files[request.url] ?? ["", null];
  response.writeHead(type ? 200 : 404, { "content-type": type ?? "text/plain" }).end(body);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const profile = await mkdtemp(join(tmpdir(), "copal-chromium-"));
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
  "--disable-background-networking", "--disable-component-update", `--user-data-dir=${profile}`];
const browser = spawn(chromium, [...flags, `http://127.0.0.1:${server.address().port}/`], { stdio: "ignore" });
browser.on("error", report.reject);
browser.on("exit", (code) => report.reject(new Error(`${chromium} ended with ${code} before it reported`)));
try {
  process.stdout.write(await report.promise);
} finally {
  browser.removeAllListeners("exit");
  const ended = new Promise((done) => browser.once("exit", done));
  browser.kill();
  await ended;
  server.close();
  await rm(profile, { recursive: true, force: true, maxRetries: 5 });
}
