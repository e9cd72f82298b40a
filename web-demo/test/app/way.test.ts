//! The way in which lines are written: no style is bound to left or right without need, and what is computed turns with it.

import { readFileSync, readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { afterEach, expect, test, vi } from "vitest";

import { keyAlong, turned } from "../../src/app/way";
import { rate, size } from "../../src/app/words";

const SOURCE = resolve(import.meta.dirname, "../../src");

/** What is bound to a side, and why. */
const NEEDED: Record<string, string> = {
  ".tip { left: 0": "the chart moves it by pixels that it counts from the left",
};

/** Declarations that name a side, or move something along a line in one direction. */
const BOUND = [
  /^((margin|padding|border|scroll-margin|scroll-padding)-)?(left|right)(-(color|style|width))?:/,
  /^border-(top|bottom)-(left|right)-radius:/,
  /^(text-align|float|clear|justify-[a-z]+):.*\b(left|right)\b/,
  /\bto (top |bottom )?(left|right)\b/,
  /translateX\((?!calc\(.*var\(--way\))/,
  /^transform-origin: (?!calc\([^)]*var\(--way\)|50%|center)/,
  /^box-shadow: .*inset -?[1-9]/,
];

/** Whether a shorthand gives the left another measure than the right. */
function isUneven(declaration: string): boolean {
  const [, name, value] = /^(margin|padding|inset|border-width|border-radius): ([^/]*)$/.exec(declaration) ?? [];
  const [top, right, bottom, left] = value?.replace(/\([^()]*(\([^()]*\)[^()]*)*\)/g, "()").split(" ") ?? [];
  if (left === undefined) return name === "border-radius" && right !== undefined && top !== right;
  return name === "border-radius" ? top !== right || bottom !== left : right !== left;
}

function boundIn(path: string): string[] {
  const text = readFileSync(path, "utf8").replace(/\/\*.*?\*\//gs, "");
  return [...text.matchAll(/([^{}]*)\{([^{}]*)\}/g)].flatMap(([, selector = "", body = ""]) =>
    body.split(";").map((one) => one.trim()).filter((one) => isUneven(one) || BOUND.some((bound) => bound.test(one))).map((one) => `${selector.trim()} { ${one}`));
}

const sheets = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".css")).map((name) => join(SOURCE, name));

test.each(sheets.map((path) => relative(SOURCE, path)))("nothing is bound to left or right without need in %s", (name) => {
  expect(boundIn(join(SOURCE, name)).filter((one) => !(one in NEEDED))).toEqual([]);
});

test("every exception is one", () => {
  const bound = sheets.flatMap(boundIn);
  expect(Object.keys(NEEDED).filter((one) => !bound.includes(one))).toEqual([]);
});

afterEach(() => vi.unstubAllGlobals());

test("where lines are written to the left, places are counted from the right and arrow keys lead on to the left", () => {
  expect([turned(74, 640), keyAlong("ArrowRight"), keyAlong("ArrowDown")]).toEqual([74, "ArrowRight", "ArrowDown"]);
  vi.stubGlobal("document", { dir: "rtl" });
  expect([turned(74, 640), turned(566, 640)]).toEqual([566, 74]);
  expect([keyAlong("ArrowRight"), keyAlong("ArrowLeft"), keyAlong("ArrowDown")]).toEqual(["ArrowLeft", "ArrowRight", "ArrowDown"]);
});

test("a size is read from left to right in each sentence", () => {
  expect([size(1536), rate(1536)]).toEqual(["1.50 KiB", "1.50 KiB/s"]);
  vi.stubGlobal("document", { dir: "rtl" });
  expect([size(1536), rate(1536)]).toEqual(["\u20661.50 KiB\u2069", "\u20661.50 KiB/s\u2069"]);
});
