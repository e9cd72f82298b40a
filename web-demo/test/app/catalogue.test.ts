//! The catalogue: every sentence of the page stands in it, in each language.

import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { afterEach, expect, test } from "vitest";

import { children, entries, files, nameOf, parsed, SOURCE, TOLD, type Entry, type Node } from "./harness/entries";
import { preferred, speak, type Part } from "../../src/words/language";
import { time } from "../../src/words/time";
import { listed } from "../../src/app/plain";
import { plain } from "../../src/words/plain";
import { moment, size, when } from "../../src/app/words";
import { catalogue } from "../../src/words/de";

afterEach(() => speak("en"));

/** Attributes whose text nobody reads. */
const SILENT = new Set([
  "class", "style", "type", "key", "id", "for", "name", "role", "rel", "target", "accept", "href", "value", "step", "scope", "autocomplete", "autocapitalize",
  "lang", "preload", "decoding", "controlsList", "data-testid", "aria-hidden", "aria-live", "aria-current", "aria-labelledby", "aria-describedby",
  "aria-sort", "inputMode", "icon", "tone", "look", "state", "problem",
  "d", "viewBox", "transform", "points", "fill", "stroke", "stroke-linecap", "stroke-linejoin", "shape-rendering", "text-anchor",
]);
/** Words of the page, of its address or of a command, and names of files and classes, which are the same in each language. */
const SAME = /^(Copal|copal( [a-z-]+)*|MiB|KiB|\w+\.[a-z]+|number size|\W*)$/;

/** Sentences, and words that begin one. */
const SENTENCE = /(^|\s)\p{L}\p{Ll}+[,.:…]?\s+\p{L}|^\p{Lu}\p{Ll}+[ .…]/u;
const WORD = /\p{L}{2}/u;

/** The sentences in a file that no catalogue has. */
function strays(path: string): string[] {
  const source = readFileSync(path, "utf8");
  const found = new Set<string>();
  const note = (node: Node, text: string) => {
    if (!SAME.test(text.trim())) found.add(`${relative(SOURCE, path)}:${source.slice(0, node.start).split("\n").length}: ${text.trim()}`);
  };
  const textOf = ({ type, value }: Node) =>
    type === "TemplateElement" ? (value as { cooked: string }).cooked : (type === "Literal" || type === "JSXText") && typeof value === "string" ? value : "";
  /** `isShown`: what this gives is read by a person, so that one word of it is a word too many. */
  const visit = (node: Node, isShown: boolean): void => {
    if (/^(Import|TS(?!As|NonNull|Satisfies))/.test(node.type)) return;
    if (node.type === "JSXAttribute" && SILENT.has(nameOf(node["name"]))) return;
    // What a mistake of the page says to its makers.
    if (node.type === "NewExpression" && /Error$/.test(nameOf(node["callee"]))) return;
    if (node.type === "CallExpression" && /^(closest|matches|querySelector(All)?)$/.test(nameOf((node["callee"] as Node)["property"]))) return;
    if (node.type === "JSXElement" && nameOf((node["openingElement"] as Node)["name"]) === "code") return;
    const text = textOf(node);
    if (isShown ? WORD.test(text) : SENTENCE.test(text)) note(node, text);
    for (const child of children(node)) visit(child, shows(node, child, isShown));
  };
  visit(parsed(source, path), false);
  return [...found];
}

/** Whether a person reads what `child` gives, where `isShown` says it of `node`. */
function shows(node: Node, child: Node, isShown: boolean): boolean {
  switch (node.type) {
    case "JSXElement": case "JSXFragment": case "JSXAttribute": return true;
    case "CallExpression": return child !== node["callee"] && nameOf(node["callee"]) === "say";
    case "ConditionalExpression": return isShown && child !== node["test"];
    case "LogicalExpression": return isShown && (node["operator"] !== "&&" || child === node["right"]);
    case "JSXExpressionContainer": case "TemplateLiteral": case "ParenthesizedExpression": case "BinaryExpression": return isShown && !/[=<>]/.test(String(node["operator"] ?? ""));
    default: return false;
  }
}

test("no sentence stands outside the catalogue", () => {
  expect(files("app").flatMap(strays)).toEqual([]);
});

test("the German catalogue has each part that a file of the English one has", () => {
  const parts = readdirSync(join(SOURCE, "words")).flatMap((name) => /words\("(\w+)"/.exec(name.endsWith(".ts") ? readFileSync(join(SOURCE, "words", name), "utf8") : "")?.[1] ?? []);
  expect(Object.keys(catalogue).sort()).toEqual(parts.sort());
});

/** What is the same in English and German. */
const EQUAL = new Set(["Browser", "Client", "Copal", "Film", "Link", "Name", "Offline", "Passphrase", "Repository", "Server", "Status", "System", "Tab", "Version", "Videos", "h", "min", "s"]);

/** Each entry of each part, in English and in German. */
async function pairs(): Promise<{ path: string; english: Entry; german: Entry }[]> {
  const found = [];
  for (const part of Object.keys(catalogue) as Part[]) {
    const path = join(SOURCE, "words", `${part}.ts`);
    const english = ((await import(/* @vite-ignore */ path)) as Record<string, object>)[part] ?? {};
    await speak("en");
    const said = entries(english, path);
    await speak("de");
    const german = new Map(entries(catalogue[part], path).map((entry) => [entry.path, entry]));
    found.push(...said.map((entry) => ({ path: `${part}.${entry.path}`, english: entry, german: german.get(entry.path) ?? { path: entry.path, said: [] } })));
  }
  return found;
}

test("no entry says what nobody was told", async () => {
  const wrong = (await pairs()).flatMap(({ path, english, german }) => [...english.said, ...german.said].filter((text) => /undefined|NaN|null|\[object|=>/.test(text)).map((text) => `${path}: ${text}`));
  expect(wrong).toEqual([]);
});

test("a German entry is no English one", async () => {
  const plain = (text: string) => text.replace(TOLD, "").replace(/[^\p{L} ]/gu, "").trim();
  const isSame = (english: Entry, german: Entry) => english.said.every((text, at) => text === german.said[at]);
  const same = (await pairs()).filter(({ english, german }) => isSame(english, german) && english.said.some((text) => WORD.test(plain(text)) && !EQUAL.has(plain(text))));
  expect(same.map(({ path, english }) => `${path}: ${english.said[0] ?? ""}`)).toEqual([]);
});

test("a German entry names all that the English one names", async () => {
  const named = (text: string) => [...new Set(text.match(TOLD))].sort().join("");
  const wrong = (await pairs()).flatMap(({ path, english, german }) => english.said.flatMap((text, at) => (named(text) === named(german.said[at] ?? "") ? [] : [`${path}: ${text} | ${german.said[at] ?? ""}`])));
  expect(wrong).toEqual([]);
});

test("German is punctuated as German is: „quotes“, an ellipsis behind a space, no exclamations", async () => {
  const isOdd = (text: string) => /["”]|\.\.\.|\p{L}{2}…|\p{L}!(\s|$)/u.test(text) || text.split("„").length !== text.split("“").length;
  expect((await pairs()).flatMap(({ path, german }) => [...new Set(german.said)].filter(isOdd).map((text) => `${path}: ${text}`))).toEqual([]);
});

test("words, dates and numbers follow the language, and what was English is again", async () => {
  const now = new Date(2026, 2, 12, 15).getTime();
  const noon = new Date(2026, 2, 10, 12, 5).getTime();
  expect([time.justNow, when(noon, now), moment(noon), size(1536)]).toEqual(["just now", "10 Mar, 12:05", "2026-03-10 12:05", "1.50 KiB"]);
  await speak("de");
  expect([time.justNow, when(noon, now), moment(noon), size(1536)]).toEqual(["gerade eben", "10. März, 12:05", "10.03.2026, 12:05", "1,50 KiB"]);
  await speak("en");
  expect(time.justNow).toBe("just now");
});

test("lists and tables of words follow the language", async () => {
  await speak("de");
  expect([listed(["a", "b", "c"]), plain.skipped.special, Object.keys(plain.skipped).length]).toEqual(["a, b und c", "ist weder Datei noch Ordner", 4]);
  await speak("en");
  expect([listed(["a", "b", "c"]), plain.skipped.special]).toEqual(["a, b and c", "is no file or folder"]);
});

test("the page speaks the first of a person's languages that it knows", () => {
  expect(preferred(["fr-CH", "de-AT", "en"])).toBe("de");
  expect(preferred(["en-GB", "de"])).toBe("en");
  expect(preferred(["fr"])).toBe("en");
  expect(preferred([])).toBe("en");
});
