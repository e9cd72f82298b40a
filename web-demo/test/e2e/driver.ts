//! Firefox and WebKitGTK as Debian has them, driven by the commands of WebDriver: Firefox takes them over its Marionette
//! protocol (length, colon, JSON), WebKitWebDriver over HTTP.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type Socket, connect } from "node:net";
import { join } from "node:path";

import { freePort } from "./kit";

/** Sends a command of WebDriver by its name, and gives what the browser answers. */
type Send = (command: Command, parameters?: Record<string, unknown>) => Promise<unknown>;
type Command = keyof typeof PATHS;

/** A browser with one window. */
export class Driver {
  private constructor(
    private readonly send: Send,
    private readonly children: ChildProcess[],
    private readonly system: ((script: string, argument: string) => Promise<void>) | null,
  ) {}

  /** Firefox with a new profile in a directory, where its downloads go too. */
  static async firefox(home: string): Promise<Driver> {
    mkdirSync(join(home, "downloads"), { recursive: true });
    const preferences = { "marionette.port": 0, "security.dialog_enable_delay": 0, "browser.download.folderList": 2, "browser.download.dir": join(home, "downloads"), "network.captive-portal-service.enabled": false, "network.connectivity-service.enabled": false };
    writeFileSync(join(home, "user.js"), Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`).join(""));
    const flags = ["--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", home];
    const child = spawn(FIREFOX, flags, { stdio: "ignore", env: { PATH: process.env["PATH"], HOME: home } });
    const told = join(home, "MarionetteActivePort");
    await until("Firefox starts", async () => existsSync(told) && readFileSync(told, "utf8") !== "", child);
    const marionette = new Marionette(connect(Number(readFileSync(told, "utf8")), "127.0.0.1"));
    const send: Send = async (command, parameters = {}) => {
      const answer = await marionette.call(`WebDriver:${command}`, parameters);
      // Most answers are wrapped once more than over HTTP.
      return typeof answer === "object" && answer !== null && Object.keys(answer).join() === "value" ? (answer as { value: unknown }).value : answer;
    };
    await send("NewSession", { capabilities: {} });
    return new Driver(send, [child], async (script, argument) => {
      await marionette.call("Marionette:SetContext", { value: "chrome" });
      await send("ExecuteScript", { script, args: [argument] });
      await marionette.call("Marionette:SetContext", { value: "content" });
    });
  }

  /** WebKitGTK's small browser on a screen of its own. */
  static async webkit(home: string, features: string): Promise<Driver> {
    mkdirSync(home, { recursive: true });
    const screen = spawn("Xvfb", ["-displayfd", "3", "-screen", "0", "1440x900x24", "-nolisten", "tcp"], { stdio: ["ignore", "ignore", "ignore", "pipe"] });
    const display = await new Promise<string>((resolve, reject) => {
      screen.once("error", reject);
      screen.stdio[3]!.once("data", (number: Buffer) => resolve(`:${number.toString().trim()}`));
    });
    const port = await freePort();
    const env = { PATH: process.env["PATH"], HOME: home, XDG_RUNTIME_DIR: home, DISPLAY: display, LIBGL_ALWAYS_SOFTWARE: "1" };
    const child = spawn("WebKitWebDriver", [`--port=${port}`], { stdio: "ignore", env });
    const address = `http://127.0.0.1:${port}`;
    await until("WebKitWebDriver starts", () => fetch(`${address}/status`).then(({ ok }) => ok, () => false), child);
    let session = "";
    const send: Send = async (command, parameters = {}) => {
      const [method, path] = PATHS[command];
      const url = `${address}${session}${path.replace(/:(\w+)/, (_, name: string) => String(parameters[name]))}`;
      const response = await fetch(url, { method, ...(method === "POST" ? { body: JSON.stringify(parameters) } : {}) });
      const { value } = (await response.json()) as { value: { sessionId?: string } };
      if (!response.ok) throw new Error(`${command}: ${JSON.stringify(value)}`);
      if (command === "NewSession") session = `/session/${value.sessionId}`;
      return value;
    };
    const options = { binary: MINI_BROWSER, args: ["--automation", `--features=${features}`] };
    await send("NewSession", { capabilities: { alwaysMatch: { "webkitgtk:browserOptions": options } } });
    return new Driver(send, [child, screen], null);
  }

  async open(url: string): Promise<void> {
    await this.send("SetTimeouts", { script: 240_000 });
    await this.send("Navigate", { url });
  }

  /** Runs a function in the page, which uses nothing from around it. */
  async evaluate<Argument, Result>(work: (argument: Argument) => Result | Promise<Result>, argument?: Argument): Promise<Result> {
    const script = `const [argument, done] = arguments; Promise.resolve((${work})(argument)).then((value) => done({ value }), (error) => done({ error: error.problem ? JSON.stringify(error.problem) : String(error) }));`;
    const { value, error } = (await this.send("ExecuteAsyncScript", { script, args: [argument ?? null] })) as { value: Result; error?: string };
    if (error !== undefined) throw new Error(error);
    return value;
  }

  async click(selector: string): Promise<void> {
    await this.send("ElementClick", { id: await this.#find("css selector", selector) });
  }

  /** Clicks the innermost element that begins with this text. */
  async press(text: string): Promise<void> {
    const begins = `[starts-with(normalize-space(), "${text}")]`;
    await this.send("ElementClick", { id: await this.#find("xpath", `//main//*${begins}[not(*${begins})]`) });
  }

  /** Empties a field as a person does: the browsers' own command tells the page of no input, so that the page may put the text back
   * whenever it is drawn again. */
  async clear(selector: string): Promise<void> {
    await this.#find("css selector", selector);
    await this.evaluate((selector) => {
      const field = document.querySelector<HTMLInputElement>(selector)!;
      field.value = "";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }, selector);
  }

  /** Types into an element, or chooses files where it is an input of files. */
  async type(selector: string, text: string): Promise<void> {
    await this.send("ElementSendKeys", { id: await this.#find("css selector", selector), text });
  }

  /** Answers the next folder dialog, which a click has to open, and the question whether all of its files may be handed over.
   * Firefox only: its dialog is the desktop's own, so another one stands in for it. */
  async chooseFolder(selector: string, folder: string): Promise<void> {
    if (this.system === null) throw new Error("this browser's folder dialog cannot be answered");
    await this.system(PICKER, folder);
    await this.click(selector);
    await until("the browser asks", () => this.send("GetAlertText").then(() => true, () => false));
    await this.send("AcceptAlert");
  }

  /** Waits until the page shows a text. */
  async see(text: string): Promise<void> {
    const isShown = () => this.evaluate((text) => document.body.innerText.includes(text), text).catch(() => false);
    await until(`the page shows "${text}"`, isShown).catch(async (error) => {
      throw new Error(`${error.message}; it shows: ${await this.evaluate(() => document.body.innerText)}`);
    });
  }

  /** A picture of the window, a PNG. */
  async picture(): Promise<Buffer> {
    return Buffer.from(String(await this.send("TakeScreenshot", { full: false })), "base64");
  }

  async end(): Promise<void> {
    await this.send("DeleteSession").catch(() => {});
    for (const child of this.children) {
      if (child.exitCode !== null) continue;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
    }
  }

  async #find(using: string, value: string): Promise<string> {
    let found: unknown = null;
    await until(`${value} is there`, () => this.send("FindElement", { using, value }).then((value) => ((found = value), true), () => false));
    return Object.values(found as Record<string, string>)[0]!;
  }
}

/** Firefox's own protocol. */
class Marionette {
  #received = Buffer.alloc(0);
  #last = 0;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();

  constructor(private readonly socket: Socket) {
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.on("close", () => this.#waiting.forEach(({ reject }) => reject(new Error("Firefox has ended"))));
  }

  call(command: string, parameters: Record<string, unknown>): Promise<unknown> {
    const number = ++this.#last;
    const message = Buffer.from(JSON.stringify([0, number, command, parameters]));
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.socket.write(Buffer.concat([Buffer.from(`${message.length}:`), message]));
    });
  }

  #take(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    for (;;) {
      const colon = this.#received.indexOf(":");
      const end = colon + 1 + Number(this.#received.subarray(0, Math.max(colon, 0)));
      if (colon < 0 || this.#received.length < end) return;
      const message: unknown = JSON.parse(this.#received.subarray(colon + 1, end).toString());
      this.#received = this.#received.subarray(end);
      // Its greeting is no answer.
      if (!Array.isArray(message)) continue;
      const [, number, error, value] = message as [number, number, unknown, unknown];
      const waiting = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (error) waiting?.reject(new Error(JSON.stringify(error)));
      else waiting?.resolve(value);
    }
  }
}

async function until(what: string, holds: () => Promise<boolean>, child?: ChildProcess): Promise<void> {
  for (const deadline = Date.now() + 240_000; !(await holds()); ) {
    if (Date.now() > deadline || (child && child.exitCode !== null)) throw new Error(`it does not come to pass that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const FIREFOX = process.env["COPAL_FIREFOX"] ?? "/usr/bin/firefox-esr";
const MINI_BROWSER = process.env["COPAL_MINI_BROWSER"] ?? `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/webkit2gtk-4.1/MiniBrowser`;

/** The commands in use, as HTTP has them. */
const PATHS = {
  NewSession: ["POST", "/session"],
  DeleteSession: ["DELETE", ""],
  SetTimeouts: ["POST", "/timeouts"],
  Navigate: ["POST", "/url"],
  FindElement: ["POST", "/element"],
  ElementClick: ["POST", "/element/:id/click"],
  ElementSendKeys: ["POST", "/element/:id/value"],
  ExecuteScript: ["POST", "/execute/sync"],
  ExecuteAsyncScript: ["POST", "/execute/async"],
  GetAlertText: ["GET", "/alert/text"],
  AcceptAlert: ["POST", "/alert/accept"],
  TakeScreenshot: ["GET", "/screenshot"],
} as const;

/** Puts a dialog in the place of Firefox's own that chooses this folder at once. */
const PICKER = `
  const [path] = arguments;
  const picker = {
    QueryInterface: ChromeUtils.generateQI(["nsIFilePicker"]),
    init() {}, appendFilters() {}, appendFilter() {}, appendRawFilter() {},
    open(callback) { Services.tm.dispatchToMainThread(() => callback.done(Ci.nsIFilePicker.returnOK)); },
    get file() {
      const file = Cc["@mozilla.org/file/local;1"].createInstance(Ci.nsIFile);
      file.initWithPath(path);
      return file;
    },
  };
  const factory = { QueryInterface: ChromeUtils.generateQI(["nsIFactory"]), createInstance: (iid) => picker.QueryInterface(iid) };
  Components.manager.QueryInterface(Ci.nsIComponentRegistrar)
    .registerFactory(Services.uuid.generateUUID(), "picker", "@mozilla.org/filepicker;1", factory);`;
