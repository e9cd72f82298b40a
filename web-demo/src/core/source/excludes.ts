//! Excludes: patterns as in .gitignore, which say what of a folder is left out.

/** Says of a path below the folder whether it is left out; parents are asked before what is in them. */
export type Excludes = (path: string, isDirectory: boolean) => boolean;

/** Reads patterns, one to a line; the last one that matches decides. */
export function readExcludes(lines: readonly string[]): Excludes {
  const rules = lines.flatMap((line) => readRule(line) ?? []);
  return (path, isDirectory) => {
    // The patterns say what is left out of the chosen folder, never that the folder itself is.
    if (path === "") return false;
    let isOut = false;
    for (const rule of rules) {
      if (rule.onlyDirectories && !isDirectory) continue;
      if (rule.matches.test(path)) isOut = rule.excludes;
    }
    return isOut;
  };
}

interface Rule {
  matches: RegExp;
  excludes: boolean;
  onlyDirectories: boolean;
}

function readRule(line: string): Rule | null {
  let pattern = line.replace(/(?<!\\)\s+$/, "");
  if (pattern === "" || pattern.startsWith("#")) return null;
  const excludes = !pattern.startsWith("!");
  if (!excludes) pattern = pattern.slice(1);
  const onlyDirectories = pattern.endsWith("/");
  if (onlyDirectories) pattern = pattern.slice(0, -1);
  // A slash that is not the last ties the pattern to the top.
  const isAnchored = pattern.includes("/");
  if (pattern.startsWith("/")) pattern = pattern.slice(1);
  if (pattern === "") return null;
  const body = translate(pattern);
  return { matches: compiled(isAnchored ? `^${body}$` : `(?:^|/)${body}$`), excludes, onlyDirectories };
}

/** A pattern with a range that ends before it begins, such as `[z-a]`, matches nothing. */
function compiled(body: string): RegExp {
  try {
    return new RegExp(body, "u");
  } catch {
    return /(?!)/;
  }
}

function translate(pattern: string): string {
  let out = "";
  for (let at = 0; at < pattern.length; at++) {
    const rest = pattern.slice(at);
    const sign = pattern[at]!;
    if (sign === "*") {
      const stars = /^\*+/.exec(rest)![0].length;
      const next = pattern[at + stars];
      // Two stars mean any depth only in the place of a whole name, as in the command; else they mean one star.
      const isDeep = stars === 2 && (at === 0 || pattern[at - 1] === "/");
      if (isDeep && next === "/") {
        out += "(?:[^/]+/)*";
        at += 1;
      } else {
        out += isDeep && next === undefined ? ".*" : "[^/]*";
      }
      at += stars - 1;
    } else if (sign === "?") {
      out += "[^/]";
    } else if (sign === "[") {
      // The first one inside is one of the signs.
      const end = pattern.indexOf("]", at + (/^\[[!^]/.test(rest) ? 3 : 2));
      if (end < 0) {
        out += "\\[";
      } else {
        const inside = pattern.slice(at + 1, end).replace(/^!/, "^").replace(/[\\\]]/g, "\\$&").replace(/(?!^)\^|\[/g, "\\$&");
        // A class matches no slash, whatever is left out of it or lies within its ranges.
        out += `(?!/)[${inside}]`;
        at = end;
      }
    } else if (sign === "\\" && at + 1 < pattern.length) {
      out += quote(pattern[at + 1]!);
      at += 1;
    } else {
      out += quote(sign);
    }
  }
  return out;
}

function quote(sign: string): string {
  return sign.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
