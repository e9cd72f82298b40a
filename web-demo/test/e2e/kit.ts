//! A repository that `copal serve` serves, and a browser on it.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, lstatSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { type Server, type Socket, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Browser, type BrowserContext, type Page, chromium } from "playwright-core";

export const PASSPHRASE = "a harbour in winter";
const TARGET = process.env["CARGO_TARGET_DIR"] ?? resolve(import.meta.dirname, "../../../target");
const COPAL = process.env["COPAL_PROGRAM"] ?? join(TARGET, "debug/copal");
const CHROMIUM = process.env["COPAL_CHROMIUM"] ?? "/usr/bin/chromium";

/** Directories of one test file, removed at its end. */
export class Machine {
  readonly home = mkdtempSync(join(tmpdir(), "copal-web-"));
  #child: ChildProcess | null = null;
  url = "";
  /** Where the repository is, and what is needed to get there. */
  repository = this.path("repository");
  environment: Record<string, string> = {};

  constructor() {
    for (const needed of [COPAL, CHROMIUM]) {
      if (!existsSync(needed)) throw new Error(`${needed} is missing: see docs/testing.md`);
    }
  }

  path(name: string): string {
    return join(this.home, name);
  }

  /** Runs the native command on the repository. */
  copal(args: string[], more: Record<string, string> = {}): string {
    return execFileSync(COPAL, args, { cwd: this.home, env: this.#env(more), encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  init(): void {
    this.copal(["init", "--ingest", "service"]);
  }

  /** Serves the page in a directory beside the repository; on the port as before, if it did so before. */
  async serve(web: string, args: string[] = [], isOpen = true): Promise<void> {
    const listen = this.url === "" ? "127.0.0.1:0" : new URL(this.url).host;
    const options = ["serve", "--json", "--listen", listen, ...(isOpen ? ["--open-slots"] : []), "--web", web, ...["--check-every", "--prune-every"].flatMap((option) => (args.includes(option) ? [] : [option, "0s"])), ...args];
    const child = spawn(COPAL, options, { cwd: this.home, env: this.#env({}, false), stdio: ["ignore", "pipe", "ignore"] });
    this.#child = child;
    const line = await new Promise<string>((resolve, reject) => {
      let text = "";
      child.stdout!.on("data", (data: Buffer) => {
        text += data.toString();
        if (text.includes("\n")) resolve(text);
      });
      child.once("exit", (code) => reject(new Error(`copal serve ended with ${code}`)));
    });
    this.url = (JSON.parse(line.split("\n")[0]!) as { gateway: string }).gateway;
  }

  /** Ends the server without a word. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.home, { recursive: true, force: true });
  }

  #env(more: Record<string, string>, hasPassphrase = true): Record<string, string> {
    const { PATH } = process.env;
    const secret: Record<string, string> = hasPassphrase ? { COPAL_PASSWORD: PASSPHRASE } : {};
    return { PATH: PATH ?? "", HOME: this.path("home"), COPAL_REPOSITORY: this.repository, LANG: "C.UTF-8", ...this.environment, ...secret, ...more };
  }
}

/** A real S3 server on a port of its own, with one bucket. */
export class Bucket {
  readonly #child: ChildProcess;

  private constructor(
    child: ChildProcess,
    readonly endpoint: string,
  ) {
    this.#child = child;
  }

  static async start(folder: string): Promise<Bucket> {
    const program = join(process.env["COPAL_TOOLS"] ?? join(TARGET, "tools"), "minio");
    if (!existsSync(program)) throw new Error(`${program} is missing: "cargo xtask tools" builds it`);
    mkdirSync(join(folder, "objects/copal"), { recursive: true });
    const port = await freePort();
    const env = { PATH: process.env["PATH"] ?? "", HOME: folder, MINIO_ROOT_USER: "copal-tests", MINIO_ROOT_PASSWORD: "copal-tests-secret", MINIO_BROWSER: "off" };
    const child = spawn(program, ["server", "--quiet", "--address", `127.0.0.1:${port}`, "objects"], { cwd: folder, env, stdio: "ignore" });
    const bucket = new Bucket(child, `http://127.0.0.1:${port}`);
    for (const deadline = Date.now() + 60_000; ; ) {
      const status = await fetch(bucket.endpoint).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 403) return bucket;
      if (Date.now() > deadline || child.exitCode !== null) throw new Error("the S3 server does not start");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  get environment(): Record<string, string> {
    return { AWS_ENDPOINT_URL_S3: this.endpoint, AWS_ACCESS_KEY_ID: "copal-tests", AWS_SECRET_ACCESS_KEY: "copal-tests-secret", AWS_REGION: "us-east-1" };
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }
}

/** A line between a browser and a server that takes so many bytes a second towards the server. */
export class SlowLine {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Bytes that have gone towards the server. */
  sent = 0;
  /** When the line is free again. */
  #free = 0;

  private constructor(
    private readonly to: URL,
    private readonly rate: number,
  ) {
    this.#server = createServer((here) => this.#join(here));
  }

  static async open(to: string, rate: number): Promise<SlowLine> {
    const line = new SlowLine(new URL(to), rate);
    await new Promise<void>((resolve) => line.#server.listen(0, "127.0.0.1", resolve));
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}/`;
  }

  /** Lets no more through, and breaks what is under way. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(here: Socket): void {
    const there = connect(Number(this.to.port), this.to.hostname);
    for (const socket of [here, there]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    }
    there.pipe(here);
    here.on("end", () => there.end());
    here.on("data", (bytes: Buffer) => {
      here.pause();
      this.#free = Math.max(this.#free, Date.now()) + (bytes.length * 1000) / this.rate;
      setTimeout(() => {
        this.sent += bytes.length;
        there.write(bytes);
        here.resume();
      }, this.#free - Date.now());
    });
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** The flags with which a browser is quiet and needs no screen. */
export const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

/** Milliseconds in which a browser starts on a busy machine. */
export const START = 180_000;

export async function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS, headless: true, timeout: START });
}

/** A page of its own context, and what it should not have done. */
export interface Tab {
  page: Page;
  context: BrowserContext;
  /** Requests to anybody but the server, and what the policy has forbidden. */
  strays: string[];
}

/** Opens the page, with its core at hand as `window.core`; or another one, which has something else when it is there. */
export async function open(browser: Browser, url: string, allowed: string[] = [], ready = "body[data-ready=yes]"): Promise<Tab> {
  const context = await browser.newContext({ acceptDownloads: true });
  context.setDefaultTimeout(150_000);
  const page = await context.newPage();
  const strays: string[] = [];
  const origins = new Set([new URL(url).origin, ...allowed]);
  context.on("request", (request) => {
    const address = request.url();
    if (!/^(blob|data):/.test(address) && !origins.has(new URL(address).origin)) strays.push(address);
  });
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted|Refused/i.test(message.text())) strays.push(message.text());
  });
  page.on("pageerror", (error) => strays.push(`error: ${error.message}`));
  await page.goto(url);
  await page.waitForSelector(ready, { state: "attached" });
  return { page, context, strays };
}

export async function unlock({ page }: Tab, passphrase = PASSPHRASE): Promise<void> {
  await page.evaluate(async (passphrase) => {
    await window.core.environment();
    await window.core.unlock({ by: "passphrase", passphrase });
  }, passphrase);
}

/** Locks the page, and waits until it has been loaded anew: who looks at it before may lose what they look at, and Chromium
 * never ends a context in which a page is being loaded. */
export async function lock(page: Page): Promise<void> {
  await Promise.all([page.waitForEvent("load"), page.locator("button.lock").click()]);
}

/** Backs a folder up through the directory input. */
export async function backUp(tab: Tab, folder: string, label = "photos", excludes: string[] = [], device?: string) {
  await tab.page.setInputFiles("#folder", folder);
  return backUpChosen(tab, label, excludes, device);
}

/** Backs up what the directory input has. */
export async function backUpChosen({ page }: Tab, label = "photos", excludes: string[] = [], device?: string) {
  return page.evaluate(
    async ({ label, excludes, device }) => {
      const files = (document.getElementById("folder") as HTMLInputElement).files!;
      const folder = await window.core.folderFromInput(files);
      const run = await window.core.startBackup({ folder: folder.id, label, excludes, remember: false, device });
      return run.done.catch((error: { problem?: unknown }) => Promise.reject(new Error(JSON.stringify(error.problem))));
    },
    { label, excludes, device },
  );
}

/** Drops something of the disk on the page. */
export async function drop({ page, context }: Tab, ...paths: string[]): Promise<void> {
  const box = (await page.locator("#drop").boundingBox())!;
  const devtools = await context.newCDPSession(page);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await devtools.send("Input.dispatchDragEvent", { type, x: box.x + 5, y: box.y + 5, data });
  }
}

/** A folder of many kinds of files; the same for the same seed. */
export function generate(root: string, options: { files?: number; seed?: number; large?: number } = {}): void {
  const random = generator(options.seed ?? 1);
  const noise = (length: number) => {
    const bytes = Buffer.alloc(length);
    for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(random(), at);
    return bytes;
  };
  const put = (path: string, content: Buffer | string) => {
    const full = join(root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
    // A file that was touched just before a backup is read again by the next one, whatever its times say.
    utimesSync(full, LONG_AGO, LONG_AGO);
  };
  put("empty.txt", "");
  put("naïve/übergrößen \u{1f600}.txt", "Grüße");
  put("naïve/\uffee", "above the basic plane, UTF-16 sorts otherwise");
  put("naïve/\u{10000}", "x");
  put("e\u0301 decomposed", "not the same name as é");
  put(`${Array.from({ length: 40 }, (_, at) => `d${at}`).join("/")}/deep.txt`, "deep");
  put("zeros.bin", Buffer.alloc(3 << 20));
  put("noise.bin", noise(options.large ?? 12 << 20));
  put("text.log", Array.from({ length: 60_000 }, (_, at) => `line ${at} of a log that compresses well\n`).join(""));
  put("same/a.bin", noise(300_000));
  put("same/b.bin", readFileSync(join(root, "same/a.bin")));
  for (let at = 0; at < (options.files ?? 2_000); at++) {
    put(`many/${at % 23}/file ${at}.txt`, at % 7 === 0 ? noise(random() % 20_000) : `file ${at}\n`.repeat(random() % 200));
  }
}

const LONG_AGO = new Date(Date.UTC(2024, 1, 29, 12, 34, 56));

function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}

/** Every file below a directory with its content's hash, and every link with its target. */
export function listing(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (path: string) => {
    for (const name of readdirSync(join(root, path))) {
      const below = path === "" ? name : `${path}/${name}`;
      const stat = lstatSync(join(root, below));
      if (stat.isDirectory()) visit(below);
      else found[below] = createHash("sha256").update(readFileSync(join(root, below))).digest("hex");
    }
  };
  visit("");
  return found;
}
