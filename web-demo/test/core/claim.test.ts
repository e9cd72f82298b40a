import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

import { claimsSnapshot } from "../../src/core/claim";

const CLIENT = resolve(import.meta.dirname, "../../../tests/golden/repository/manifests/a2b4b7af81418aa22ae2d06683ebf3d6");
const manifest = (number: number) => new Uint8Array(readFileSync(`${CLIENT}/${String(number).padStart(20, "0")}`));

test("a manifest that claims a snapshot ends a backup", () => expect(claimsSnapshot(manifest(1))).toBe(true));

test("a manifest that claims packs alone is a step on the way", () => expect(claimsSnapshot(manifest(2))).toBe(false));

test("a checkpoint is a step on the way", () => {
  const bytes = manifest(1);
  // Key 6, a map that begins with key 0 (a chunk id of 24 bytes) and key 1, which says whether it is partial.
  const at = bytes.findIndex((byte, i) => byte === 6 && bytes[i + 1]! >> 5 === 5 && bytes[i + 2] === 0 && bytes[i + 3] === 0x58 && bytes[i + 29] === 1);
  expect(bytes[at + 30]).toBe(0xf4);
  bytes[at + 30] = 0xf5;
  expect(claimsSnapshot(bytes)).toBe(false);
});

test("a manifest that is cut off is a mistake", () => expect(() => claimsSnapshot(manifest(1).subarray(0, 40))).toThrow(RangeError));
