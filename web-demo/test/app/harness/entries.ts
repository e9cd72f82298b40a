/** Entries of the catalogue, each read with samples of what it is told: the types of its parameters stand in the English file. */

import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseSync } from "vite";

export const SOURCE = resolve(import.meta.dirname, "../../../src");

export interface Node { type: string; start: number; [key: string]: unknown }

export function parsed(source: string, path: string): Node {
  return parseSync(path, source).program as unknown as Node;
}

/** The files of the page's source in a folder, with all below it. */
export function files(folder: string): string[] {
  return readdirSync(join(SOURCE, folder), { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name)).map((name) => join(SOURCE, folder, name));
}

export function children(node: Node): Node[] {
  return Object.values(node).flat().filter((child): child is Node => typeof child === "object" && child !== null && "type" in child);
}

export function nameOf(node: unknown): string {
  const { name, value } = (node ?? {}) as { name?: unknown; value?: unknown };
  return String(name ?? value);
}

/** What is handed over, as it is found again in what an entry says. */
export const TOLD = /⟨\d+⟩/g;

/** An entry, and what it says to each row of samples. */
export interface Entry { path: string; said: string[] }

/** All entries of a part in one language. `english` is its English file: the one that has types. */
export function entries(catalogue: object, english: string): Entry[] {
  const program = parsed(readFileSync(english, "utf8"), english);
  const call = declared(program).map((one) => one["init"] as Node | null).find((init) => init?.type === "CallExpression" && nameOf(init["callee"]) === "words");
  return readAll(catalogue, (call?.["arguments"] as Node[] | undefined)?.[1] ?? program, program, "");
}

function readAll(value: object, node: Node, program: Node, prefix: string): Entry[] {
  const properties = (inner(node, program)["properties"] ?? []) as Node[];
  return Object.entries(value).flatMap(([key, entry]: [string, unknown]): Entry[] => {
    const path = prefix + key;
    if (typeof entry === "string") return [{ path, said: [entry] }];
    const own = properties.find((property) => nameOf(property["key"]) === key)?.["value"] as Node | undefined;
    if (typeof entry === "object" && entry !== null) return readAll(entry, own ?? program, program, `${path}.`);
    const parameters = (functionOfTable(node, program) ?? (own ? inner(own, program) : program))["params"] as Node[] | undefined ?? [];
    const rows = parameters.reduce<unknown[][]>((before, parameter, at) => before.flatMap((row) => samplesOf(parameter, at + 1, program).map((sample) => [...row, sample])), [[]]);
    return [{ path, said: rows.map((row) => text((entry as (...told: unknown[]) => unknown)(...row))) }];
  });
}

/** What a value stands for: without `satisfies`, and a function for its name. */
function inner(node: Node, program: Node): Node {
  if (/^TS(Satisfies|As)Expression$/.test(node.type)) return inner(node["expression"] as Node, program);
  if (node.type !== "Identifier") return node;
  const named = declared(program).find((other) => nameOf(other["id"]) === nameOf(node));
  return named?.type === "VariableDeclarator" ? inner(named["init"] as Node, program) : (named ?? node);
}

/** The type of the functions in a table that has a name, as `const TABLE: Record<Key, (told: string) => string>`. */
function functionOfTable(node: Node, program: Node): Node | undefined {
  const named = node.type === "Identifier" ? declared(program).find((other) => nameOf(other["id"]) === nameOf(node)) : undefined;
  const type = ((named?.["id"] as Node | undefined)?.["typeAnnotation"] as Node | null | undefined)?.["typeAnnotation"] as Node | undefined;
  const values = ((type?.["typeArguments"] as Node | null | undefined)?.["params"] as Node[] | undefined)?.[1];
  return values?.type === "TSFunctionType" ? values : undefined;
}

function samplesOf(parameter: Node, at: number, program: Node): unknown[] {
  if (parameter.type === "AssignmentPattern") return [undefined, ...samplesOf(parameter["left"] as Node, at, program)];
  const type = (parameter["typeAnnotation"] as Node | null)?.["typeAnnotation"] as Node | undefined;
  const samples = type ? ofType(type, at, program) : [`⟨${at}⟩`];
  return parameter["optional"] ? [...samples, undefined] : samples;
}

function ofType(type: Node, at: number, program: Node): unknown[] {
  const told = `⟨${at}⟩`;
  switch (type.type) {
    case "TSNumberKeyword": return [0, 1, 2];
    case "TSStringKeyword": return [told];
    case "TSBooleanKeyword": return [false, true];
    case "TSNullKeyword": return [null];
    case "TSUndefinedKeyword": return [undefined];
    case "TSLiteralType": return [(type["literal"] as { value: unknown }).value];
    case "TSParenthesizedType": return ofType(type["typeAnnotation"] as Node, at, program);
    case "TSUnionType": return (type["types"] as Node[]).flatMap((one) => ofType(one, at, program));
    case "TSArrayType": return [1, 2].map((length) => Array.from({ length }, () => ofType(type["elementType"] as Node, at, program)[0]));
    case "TSTypeOperator": return type["operator"] === "keyof" ? keysOf(type["typeAnnotation"] as Node, program) : ofType(type["typeAnnotation"] as Node, at, program);
    case "TSFunctionType": return [() => told];
    case "TSTypeLiteral": case "TSInterfaceBody": return objects((type["members"] ?? type["body"]) as Node[], at, program);
    case "TSIndexedAccessType": return indexed(type, at, program);
    case "TSTypeReference": {
      const name = nameOf(type["typeName"]);
      if (/^(ComponentChildren?|VNode)$/.test(name)) return [told];
      const declared = types().get(name);
      return declared ? ofType(declared, at, program) : [told];
    }
    default: return [told];
  }
}

/** As many objects as the property with the most samples has. */
function objects(members: Node[], at: number, program: Node): unknown[] {
  const samples = members.map((member): [string, unknown[]] => [nameOf(member["key"]), samplesOf(member, at, program)]);
  const most = Math.max(1, ...samples.map(([, several]) => several.length));
  return Array.from({ length: most }, (_, i) => Object.fromEntries(samples.map(([key, several]) => [key, several[Math.min(i, several.length - 1)]])));
}

/** `Type["key"]`, and `(typeof LIST)[number]`. */
function indexed(type: Node, at: number, program: Node): unknown[] {
  const object = type["objectType"] as Node;
  const declared = object.type === "TSTypeReference" ? types().get(nameOf(object["typeName"])) : undefined;
  const key = ((type["indexType"] as Node)["literal"] as { value?: unknown } | undefined)?.value;
  const member = ((declared?.["members"] ?? declared?.["body"] ?? []) as Node[]).find((one) => nameOf(one["key"]) === key);
  return member ? samplesOf(member, at, program) : [`⟨${at}⟩`];
}

/** `keyof Type`, and `keyof typeof TABLE`. */
function keysOf(type: Node, program: Node): unknown[] {
  if (type.type === "TSTypeQuery") return ((inner(type["exprName"] as Node, program)["properties"] ?? []) as Node[]).map((property) => nameOf(property["key"]));
  const named = type.type === "TSTypeReference" ? types().get(nameOf(type["typeName"])) : type;
  return ((named?.["members"] ?? named?.["body"] ?? []) as Node[]).map((member) => nameOf(member["key"]));
}

let known: Map<string, Node> | null = null;

/** The types that the source gives names, by their names. */
function types(): Map<string, Node> {
  return (known ??= new Map(files(".").flatMap((path) => declared(parsed(readFileSync(path, "utf8"), path)).flatMap((node): [string, Node][] =>
    node.type === "TSTypeAliasDeclaration" ? [[nameOf(node["id"]), node["typeAnnotation"] as Node]]
    : node.type === "TSInterfaceDeclaration" ? [[nameOf(node["id"]), node["body"] as Node]] : []))));
}

/** What a file declares. */
function declared(program: Node): Node[] {
  return (program["body"] as Node[]).flatMap((statement) => {
    const own = (statement["declaration"] ?? statement) as Node;
    return own.type === "VariableDeclaration" ? (own["declarations"] as Node[]) : [own];
  });
}

/** As the page would show it. */
function text(said: unknown): string {
  if (Array.isArray(said)) return said.map(text).join("");
  return said === null || typeof said === "boolean" ? "" : String(said);
}
