//! The catalogue: every sentence of the page stands in it, in each language.

import { readFileSync, readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseSync } from "vite";
import { afterEach, expect, test } from "vitest";

import { preferred, speak } from "../../src/words/language";
import { time } from "../../src/words/time";
import { size, when } from "../../src/app/words";
import { catalogue } from "../../src/words/de";

const SOURCE = resolve(import.meta.dirname, "../../src");

afterEach(() => speak("en"));

/** Attributes whose text nobody reads. */
const SILENT = new Set(["class", "style", "d", "viewBox", "transform", "points", "type", "key", "id", "for", "name", "role", "rel", "target", "accept"]);
/** Words of the page, of its address or of a command, which are the same in each language. */
const SAME = /^(Copal|copal( [a-z-]+)*|MiB|KiB|\W*)$/;

/** Sentences, and words that begin one. */
const SENTENCE = /(^|\s)\p{L}\p{Ll}+[,.:…]?\s+\p{L}|^\p{Lu}\p{Ll}+[ .…]/u;

interface Node { type: string; start: number; [key: string]: unknown }

/** The sentences in a file that no catalogue has. */
function strays(path: string): string[] {
  const source = readFileSync(path, "utf8");
  const found: string[] = [];
  const note = (node: Node, text: string) => {
    if (!SAME.test(text.trim())) found.push(`${relative(SOURCE, path)}:${source.slice(0, node.start).split("\n").length}: ${text.trim()}`);
  };
  const name = (node: unknown) => (node as { name?: unknown }).name;
  const visit = (node: Node): void => {
    if (/^(Import|TS(?!As|NonNull|Satisfies))/.test(node.type)) return;
    const { type, value } = node;
    if (type === "JSXAttribute") {
      if (SILENT.has(String(name(node["name"])))) return;
      const text = (value as Node | null)?.type === "Literal" ? (value as Node)["value"] : null;
      if (typeof text === "string" && /\p{L}{2}/u.test(text)) return note(node, text);
    }
    // What a mistake of the page says to its makers.
    if (type === "NewExpression" && /Error$/.test(String(name(node["callee"])))) return;
    if (type === "JSXElement" && name((node["openingElement"] as Node)["name"]) === "code") return;
    const text = type === "TemplateElement" ? (value as { cooked: string }).cooked : value;
    if (type === "JSXText" && /\p{L}{2}/u.test(String(text))) note(node, String(text));
    else if ((type === "Literal" || type === "TemplateElement") && typeof text === "string" && SENTENCE.test(text) && !/^[a-z-]+( [a-z-]+)*$/.test(text)) note(node, text);
    for (const child of Object.values(node).flat()) if (typeof child === "object" && child !== null && "type" in child) visit(child as Node);
  };
  visit(parseSync(path, source).program as unknown as Node);
  return found;
}

function files(folder: string): string[] {
  return readdirSync(join(SOURCE, folder), { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name)).map((name) => join(SOURCE, folder, name));
}

test("no sentence stands outside the catalogue", () => {
  expect(files("app").flatMap(strays)).toEqual([]);
});

test("the German catalogue has each part that a file of the English one has", () => {
  const parts = readdirSync(join(SOURCE, "words")).flatMap((name) => /words\("(\w+)"/.exec(name.endsWith(".ts") ? readFileSync(join(SOURCE, "words", name), "utf8") : "")?.[1] ?? []);
  expect(Object.keys(catalogue).sort()).toEqual(parts.sort());
});

test("words, dates and numbers follow the language, and what was English is again", async () => {
  const now = new Date(2026, 2, 12, 15).getTime();
  const noon = new Date(2026, 2, 10, 12, 5).getTime();
  expect([time.justNow, when(noon, now), size(1536)]).toEqual(["just now", "10 Mar, 12:05", "1.50 KiB"]);
  await speak("de");
  expect([time.justNow, when(noon, now), size(1536)]).toEqual(["gerade eben", "10. März, 12:05", "1,50 KiB"]);
  await speak("en");
  expect(time.justNow).toBe("just now");
});

test("the page speaks the first of a person's languages that it knows", () => {
  expect(preferred(["fr-CH", "de-AT", "en"])).toBe("de");
  expect(preferred(["en-GB", "de"])).toBe("en");
  expect(preferred(["fr"])).toBe("en");
  expect(preferred([])).toBe("en");
});
