import { expect, test } from "vitest";

import { namedLike, nameIn, parentOf } from "../../src/core/restore/names";

test("an entry's name and folder are told from its id, also where they are not text", () => {
  const hex = (text: string) => `\0${Buffer.from(text, "latin1").toString("hex")}`;
  expect(["a", "a/b c/ü.txt"].map(nameIn)).toEqual(["a", "ü.txt"]);
  expect(["a", "a/b c/ü.txt"].map(parentOf)).toEqual(["", "a/b c"]);
  expect(nameIn(hex("a/b\xff"))).toBe("b\ufffd");
  expect(parentOf(hex("a/b\xff"))).toBe("a");
  expect(parentOf(hex("a\xff/b"))).toBe(hex("a\xff"));
  // 0xf2 and 0xff: a slash across two bytes is none.
  expect([nameIn("\0f2ff"), parentOf("\0f2ff")]).toEqual(["\ufffd\ufffd", ""]);
});

test("a part of a name is found whatever its capital letters and however its accents are written", () => {
  expect(namedLike("über")("Das ÜBERGROSSE")).toBe(true);
  expect(namedLike("\u00e9")("cafe\u0301.txt")).toBe(true);
  expect(namedLike(" report ")("My Report 2.pdf")).toBe(true);
  expect(namedLike("report")("rep ort")).toBe(false);
  expect(namedLike("")("anything")).toBe(true);
});

test("a pattern is for the whole name, and none takes long", () => {
  const like = (name: string, pattern: string) => namedLike(pattern)(name);
  expect(like("IMG_001.JPG", "*.jpg")).toBe(true);
  expect(like("a.jpg.txt", "*.jpg")).toBe(false);
  expect(like("report 2026 final.pdf", "report*final.*")).toBe(true);
  expect(like("ab", "a?")).toBe(true);
  expect(like("a", "a?")).toBe(false);
  expect(like("[a].txt", "[a]*")).toBe(true);
  expect(like("abab", "*ab")).toBe(true);
  expect(like(`${"a".repeat(255)}`, `${"*a".repeat(100)}b`)).toBe(false);
});
