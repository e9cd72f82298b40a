//! Look: what a snapshot holds is seen and heard before it is restored, and nothing of it ever runs.

import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { deflateSync } from "node:zlib";
import type { BrowserContext, Page } from "playwright-core";
import { afterEach, beforeEach, expect, inject, test } from "vitest";

import { watch } from "../memory.mjs";
import { paper } from "../app/harness/paper";
import { FRAMES, film } from "./film";
import { PASSPHRASE, lock } from "./kit";
import { browsed, browser, machine, served } from "./setting";

let context: BrowserContext;
let page: Page;
let strays: string[];

afterEach(() => expect(strays).toEqual([]));
browsed();
served(inject("product"));
beforeEach(async () => {
  context = await browser.newContext();
  context.setDefaultTimeout(120_000);
  page = await context.newPage();
  strays = [];
  page.on("console", (message) => { if (/Content Security Policy|Trusted|Refused/i.test(message.text())) strays.push(message.text()); });
  page.on("pageerror", (error) => strays.push(String(error)));
  page.on("dialog", (dialog) => { strays.push(`a dialog: ${dialog.message()}`); void dialog.dismiss(); });
  await page.goto(machine.url);
});
afterEach(async () => {
  await context.close();
});

/** Saves a folder with the command, unlocks the page and opens the folder in it. */
async function look(folder: string): Promise<void> {
  machine.copal(["backup", folder], { COPAL_REPOSITORY: machine.url });
  await page.reload();
  await page.locator("#secret").fill(PASSPHRASE);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Restore" }).click();
  await page.locator("[data-row='0']").click();
  // The command saves whole paths: a search finds the folder whatever lies above it.
  await page.getByRole("searchbox").fill(folder);
  await page.getByRole("row").getByText(folder, { exact: true }).click();
  await page.getByRole("heading", { name: folder }).waitFor();
}

async function open(name: string): Promise<void> {
  await page.locator("[data-row]").filter({ hasText: name }).first().click();
  await page.getByRole("dialog").getByRole("heading", { name }).waitFor();
}

async function close(): Promise<void> {
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

const put = (folder: string, files: Record<string, Buffer | string>) => {
  mkdirSync(machine.path(folder), { recursive: true });
  for (const [name, bytes] of Object.entries(files)) writeFileSync(machine.path(`${folder}/${name}`), bytes);
};

/** A picture as the browser makes it, half of it noise. */
async function picture(type: string, width: number, height: number, hue = 200, noise = 0): Promise<Buffer> {
  return Buffer.from(await page.evaluate(async ({ type, width, height, hue, noise }) => {
    const canvas = new OffscreenCanvas(width, height);
    const brush = canvas.getContext("2d")!;
    brush.fillStyle = `hsl(${hue} 70% 50%)`;
    brush.fillRect(0, 0, width, height);
    for (let i = 0; i < noise; i++) {
      brush.fillStyle = `rgb(${(i * 73) % 255} ${(i * 151) % 255} ${(i * 199) % 255})`;
      brush.fillRect((i * 7919) % width, (i * 104_729) % height, 3, 3);
    }
    const bytes = new Uint8Array(await (await canvas.convertToBlob({ type, quality: 1 })).arrayBuffer());
    return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  }, { type, width, height, hue, noise }), "latin1");
}

/** The colour in the middle of an image that is shown. */
const colour = (selector: string) => page.locator(selector).first().evaluate((image) => {
  const canvas = new OffscreenCanvas(1, 1);
  const brush = canvas.getContext("2d")!;
  const { naturalWidth: width, naturalHeight: height } = image as HTMLImageElement;
  brush.drawImage(image as HTMLImageElement, width / 2, height / 2, 1, 1, 0, 0, 1, 1);
  return Array.from(brush.getImageData(0, 0, 1, 1).data);
});

/** A PNG that says to be of a size, with as many zeros as that takes in a few bytes. */
function bomb(width: number, height: number): Buffer {
  const chunk = (type: string, body: Buffer) => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(body.length);
    head.write(type, 4, "latin1");
    return Buffer.concat([head, body, Buffer.alloc(4)]);
  };
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width);
  size.writeUInt32BE(height, 4);
  size.set([8, 2], 8);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", size), chunk("IDAT", deflateSync(Buffer.alloc(40 << 20))), chunk("IEND", Buffer.alloc(0))]);
}

/** A second of silence, and more of it. */
function wave(seconds: number): Buffer {
  const samples = 8_000 * seconds;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + samples, 4);
  head.write("WAVEfmt ", 8);
  head.set([16, 0, 0, 0, 1, 0, 1, 0], 16);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.set([1, 0, 8, 0], 32);
  head.write("data", 36);
  head.writeUInt32LE(samples, 40);
  return Buffer.concat([head, Buffer.alloc(samples, 128)]);
}

/** A camera's JPEG: a small green picture in the head of a large one, which lies on its side. */
function camera(large: Buffer, small: Buffer): Buffer {
  const tag = (id: number, kind: number, value: number) => {
    const bytes = Buffer.alloc(12);
    bytes.writeUInt16BE(id);
    bytes.writeUInt16BE(kind, 2);
    bytes.writeUInt32BE(1, 4);
    if (kind === 3) bytes.writeUInt16BE(value, 8);
    else bytes.writeUInt32BE(value, 8);
    return bytes;
  };
  const exif = Buffer.concat([
    Buffer.from("MM\0*\0\0\0\b\0\x01", "latin1"), tag(0x0112, 3, 6), Buffer.from([0, 0, 0, 26, 0, 2]),
    tag(0x0201, 4, 56), tag(0x0202, 4, small.length), Buffer.alloc(4), small,
  ]);
  const head = Buffer.alloc(4);
  head.writeUInt16BE(0xffe1);
  head.writeUInt16BE(exif.length + 8, 2);
  return Buffer.concat([large.subarray(0, 2), head, Buffer.from("Exif\0\0", "latin1"), exif, large.subarray(2)]);
}

const EVIL = "window.hacked = true; alert('hacked')";

test("each kind of file is shown as what its bytes are, whatever its name is, and nothing in it runs", async () => {
  const clip = readFileSync(resolve(import.meta.dirname, "../app/harness/public/film.webm"));
  const jpeg = await picture("image/jpeg", 640, 480);
  put("Mixed", {
    "a.jpg": jpeg, "b.png": await picture("image/png", 200, 100), "c.webp": await picture("image/webp", 300, 300),
    "d.gif": Buffer.from("R0lGODdhAgACAIAAAP8AAAAA/ywAAAAAAgACAAACA0QCBQA7", "base64"),
    "e picture.txt": jpeg,
    "f.svg": `<svg xmlns="http://www.w3.org/2000/svg" onload="${EVIL}"><script>${EVIL}</script><image href="https://elsewhere.example/x.png"/></svg>`,
    "g.html": `<!doctype html><script>${EVIL}</script><img src=x onerror="${EVIL}"><iframe src="javascript:${EVIL}"></iframe>`,
    "h picture.png": `<html><script>${EVIL}</script></html>`,
    "i.mp4": `<html><body onload="${EVIL}"></body></html>`,
    "j.wav": wave(3), "k.webm": clip, "l film.jpg": clip,
    "m truncated.jpg": (await picture("image/jpeg", 900, 900, 20, 4_000)).subarray(0, 90), "n bomb.png": bomb(60_000, 60_000), "o strange.bin": Buffer.from([0, 1, 2, 3]),
    "q paper.pdf": Buffer.from(paper("The harbour in winter", "app.alert(1)")),
    "p.ts": `export const html = "<img src=x onerror=${EVIL.replaceAll("'", "")}>"; // a comment\n`,
  });
  await look("Mixed");
  for (const [name, red] of [["a.jpg", 38], ["b.png", 38], ["c.webp", 38], ["d.gif", 255], ["e picture.txt", 38]] as const) {
    await open(name);
    await page.locator("img.picture").waitFor();
    await expect.poll(async () => Math.abs((await colour("img.picture"))[0]! - red), { message: name }).toBeLessThan(8);
    await close();
  }
  for (const name of ["f.svg", "g.html", "h picture.png", "i.mp4"]) {
    await open(name);
    expect(await page.locator("pre.text").innerText()).toContain(EVIL);
    await close();
  }
  for (const [name, kind, seconds] of [["j.wav", "audio", 3], ["k.webm", "video", 2], ["l film.jpg", "video", 2]] as const) {
    await open(name);
    await page.waitForFunction(({ kind, seconds }) => Math.round((document.querySelector(kind) as HTMLMediaElement | null)?.duration ?? 0) === seconds, { kind, seconds });
    await page.locator(kind).evaluate((player) => (player as HTMLMediaElement).play());
    await page.waitForFunction((kind) => (document.querySelector(kind) as HTMLMediaElement).currentTime > 0.5, kind);
    await close();
  }
  for (const [name, words] of [["m truncated", "cannot show this picture|too large"], ["n bomb.png", "too large to show"], ["o strange", "no preview of this kind"]] as const) {
    await open(name);
    await page.getByRole("dialog").getByText(new RegExp(words)).waitFor();
    await close();
  }
  await open("q paper.pdf");
  await page.getByRole("img", { name: "Page 1 of q paper.pdf" }).waitFor();
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByRole("img", { name: "Page 2 of q paper.pdf" }).waitFor();
  expect(await page.locator(".sheet-of-paper p").textContent()).toContain("The harbour in winter");
  await close();
  await open("p.ts");
  await page.waitForFunction(() => ["copal-keyword", "copal-string", "copal-comment"].every((kind) => (CSS.highlights.get(kind)?.size ?? 0) > 0));
  expect(await page.locator("pre.text").evaluate((element) => element.children.length)).toBe(0);
  // The next file, and the one before, by the keys.
  await page.getByRole("button", { name: "Close" }).last().focus();
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("dialog").getByText("no preview of this kind").waitFor();
  await close();
  expect(await page.evaluate(() => "hacked" in window)).toBe(false);
});

test("a gallery of two hundred pictures shows those in view, is gone through with the keyboard, and is forgotten when the page locks", async () => {
  const files: Record<string, Buffer | string> = {};
  for (let hue = 0; hue < 12; hue++) {
    const bytes = await picture("image/jpeg", 480, 360, hue * 30, 3);
    for (let at = hue; at < 200; at += 12) files[`IMG_${1_000 + at}.jpg`] = Buffer.concat([bytes, Buffer.from(`${at}`)]);
  }
  files["IMG_0001 large.jpg"] = camera(await picture("image/jpeg", 2_000, 1_500, 0, 400_000), await picture("image/jpeg", 160, 120, 120));
  expect(files["IMG_0001 large.jpg"]!.length).toBeGreaterThan(1 << 20);
  files["IMG_0002 bomb.png"] = bomb(60_000, 60_000);
  files["IMG_0003 text.jpg"] = "no picture at all";
  files["IMG_0004 cut.jpg"] = (files["IMG_1000.jpg"] as Buffer).subarray(0, 60);
  put("Album", files);
  await look("Album");
  await page.getByRole("radio", { name: "Gallery" }).check();
  const settled = () => page.waitForFunction(() => document.querySelectorAll(".tile").length > 8 && document.querySelectorAll(".tile .bone").length === 0 && [...document.querySelectorAll<HTMLImageElement>(".tile img")].every((image) => image.complete && image.naturalWidth > 0));
  await settled();
  const tile = (name: string) => page.getByRole("option").filter({ hasText: name });
  // The camera's own picture is green and turned; of the large one nothing was read but its head.
  expect((await colour(".tile:has-text('large') img")).map((part) => Math.round(part / 60))).toEqual([1, 4, 1, 4]);
  expect(await tile("large").locator("img").evaluate((image) => [(image as HTMLImageElement).naturalWidth, (image as HTMLImageElement).naturalHeight])).toEqual([120, 160]);
  await tile("bomb").getByText("Too large to show small").waitFor();
  await tile("cut").getByText(/Cannot be shown|Too large/).waitFor();
  expect(await tile("text").locator("img").count()).toBe(0);
  // Only what is in view is there, and only that was asked for.
  expect(await page.locator(".tile").count()).toBeLessThan(60);
  await page.getByRole("listbox").focus();
  await page.keyboard.press("End");
  await tile("IMG_1199.jpg").waitFor();
  await settled();
  const active = () => page.getByRole("listbox").evaluate((element) => document.getElementById(element.getAttribute("aria-activedescendant") ?? "")?.textContent ?? "");
  await expect.poll(active).toContain("IMG_1199.jpg");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press(" ");
  await page.getByText("1 selected").waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("heading", { name: "IMG_1198.jpg" }).waitFor();
  await page.locator("img.picture").waitFor();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("dialog").getByRole("heading", { name: "IMG_1199.jpg" }).waitFor();
  await close();
  // The browser remembers how one looks at folders.
  await lock(page);
  await page.getByText("The keys are gone from this page").waitFor();
  expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain("IMG_");
  await page.locator("#secret").fill(PASSPHRASE);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Restore" }).click();
  await page.locator("[data-row='0']").click();
  await page.getByRole("listbox", { name: "Folder" }).waitFor();
});

test("a film of more than 60 MB is played and sought in, piece by piece, and nobody gets it but the player that opened it", async () => {
  const bytes = await film(page, 80);
  expect(bytes.length).toBeGreaterThan(60_000_000);
  put("Films", { "film.webm": bytes });
  await look("Films");
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  const watches = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => watch(id));
  const before = Math.max(...watches.map((most) => most().own));
  const again = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => watch(id));
  await open("film.webm");
  const player = page.locator("video");
  await page.waitForFunction(() => (document.querySelector("video")?.duration ?? 0) === 80);
  /** The number of the frame that is shown. */
  const shown = () => player.evaluate((element) => {
    const brush = new OffscreenCanvas(10, 1).getContext("2d")!;
    brush.drawImage(element as HTMLVideoElement, 0, 0, 10, 1);
    const { data } = brush.getImageData(0, 0, 10, 1);
    return [0, 1, 2, 3, 4].reduce((number, bar) => number | (data[bar * 4]! > 127 ? 1 << bar : 0), 0);
  });
  const seek = async (second: number) => {
    await player.evaluate((element, second) => new Promise<void>((resolve) => {
      element.addEventListener("seeked", () => resolve(), { once: true });
      (element as HTMLVideoElement).currentTime = second + 0.5;
    }), second);
    await expect.poll(shown, { message: `at ${second}` }).toBe(second % FRAMES);
  };
  await player.evaluate((element) => (element as HTMLVideoElement).play());
  await page.waitForFunction(() => document.querySelector("video")!.currentTime > 2);
  await player.evaluate((element) => (element as HTMLVideoElement).pause());
  for (const second of [70, 5, 40]) await seek(second);
  // A worker that the browser has ended is started anew, and knows nothing: the page knows what is open.
  const ofPage = await context.newCDPSession(page);
  await ofPage.send("ServiceWorker.enable");
  await ofPage.send("ServiceWorker.stopAllWorkers");
  for (const second of [20, 78]) await seek(second);
  const most = Math.max(...again.map((end) => end().own));
  console.log(`a film of ${Math.round(bytes.length / 1e6)} MB: ${Math.round(before / 1e6)} MB before, at most ${Math.round(most / 1e6)} MB`);
  // Chromium's player alone takes some 370 MB for such a film, which a plain server hands out: it reads ahead and keeps frames.
  expect(most - before).toBeLessThan(450e6);

  // Under its address there is nothing for anybody else.
  const address = await player.evaluate((element) => (element as HTMLVideoElement).src);
  expect(await page.evaluate((address) => fetch(address).then(async (answer) => [answer.status, await answer.text()]), address)).toEqual([404, ""]);
  const visitor = await context.newPage();
  // The browser shows its own page for an answer without a body.
  await expect(visitor.goto(address)).rejects.toThrow("ERR_HTTP_RESPONSE_CODE_FAILURE");
  await visitor.close();
  await page.bringToFront();
  await close();
  // Nothing answers once nothing is open; what was opened is not there any more for the page that it was opened in either.
  await expect.poll(() => page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length)).toBe(0);
  expect(await page.evaluate((address) => fetch(address).then(({ status }) => status), address)).toBe(404);
});

/** Alters the packs of data, all between the first and the last so many bytes. */
function alter(first: number, last: number): void {
  const packs = machine.path("repository/packs");
  for (const name of readdirSync(packs, { recursive: true, encoding: "utf8" })) {
    const path = join(packs, name);
    if (!statSync(path).isFile() || statSync(path).size < first + last + 100_000) continue;
    const pack = readFileSync(path);
    for (let at = first; at < pack.length - last; at += 50_000) pack[at]! ^= 1;
    writeFileSync(path, pack);
  }
}

test("a damaged film plays up to the damage, and says so there", async () => {
  put("Films", { "film.webm": await film(page, 40) });
  machine.copal(["backup", "Films"], { COPAL_REPOSITORY: machine.url });
  alter(8 << 20, 6 << 20);
  await look("Films");
  await open("film.webm");
  await page.waitForFunction(() => document.querySelector("video")?.duration === 40);
  // A busy machine may have played up to the damage, and lost its player, before anybody looks.
  await page.evaluate(() => {
    const player = document.querySelector("video")!;
    player.ontimeupdate = () => { document.body.dataset["played"] = String(player.currentTime); };
    return player.play();
  });
  await page.waitForFunction(() => Number(document.body.dataset["played"]) > 1);
  await page.evaluate(() => {
    const player = document.querySelector("video");
    if (player) player.currentTime = 15;
  });
  await page.getByRole("dialog").getByText("Something stored is damaged").waitFor();
  await page.getByRole("dialog").locator(".notice").getByText("film.webm").waitFor();
  expect(await page.evaluate(() => document.querySelector("video")?.currentTime ?? 0)).toBeLessThan(17);
});

test("a damaged picture is shown neither large nor small, and the others are", async () => {
  put("Album", { "a.jpg": await picture("image/jpeg", 1_600, 1_200, 90, 300_000) });
  machine.copal(["backup", "Album"], { COPAL_REPOSITORY: machine.url });
  alter(100_000, 200_000);
  put("Album", { "b.jpg": await picture("image/jpeg", 480, 360, 200, 3) });
  await look("Album");
  await open("a.jpg");
  await page.getByRole("dialog").getByText("Something stored is damaged").waitFor();
  expect(await page.locator("img.picture").count()).toBe(0);
  await close();
  await page.getByRole("radio", { name: "Gallery" }).check();
  await page.getByRole("option").filter({ hasText: "a.jpg" }).getByText("Damaged").waitFor();
  await page.getByRole("option").filter({ hasText: "b.jpg" }).locator("img").waitFor();
});
