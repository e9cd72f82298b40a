import { describe, expect, test } from "vitest";

import { kindOf, mediaTypeOf } from "../../src/core/look/kinds";
import { cameraPicture, isModest, sizeOf } from "../../src/core/look/pictures";

const text = (letters: string) => [...letters].map((letter) => letter.charCodeAt(0));
const big = (value: number, length: number) => Array.from({ length }, (_, i) => Math.floor(value / 256 ** (length - 1 - i)) % 256);
const little = (value: number, length: number) => big(value, length).reverse();
const of = (...parts: (number[] | string)[]) => Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? text(part) : part)));

const PNG = of("\x89PNG\r\n\x1a\n", big(13, 4), "IHDR", big(4000, 4), big(3000, 4), [8, 6, 0, 0, 0]);
const frame = (width: number, height: number) => [0xff, 0xc2, ...big(17, 2), 8, ...big(height, 2), ...big(width, 2), 3];
const PLAIN_JPEG = of([0xff, 0xd8], [0xff, 0xe0, ...big(16, 2)], "JFIF\0", Array(9).fill(0), [0xff, 0xff], frame(640, 480), [0xff, 0xda]);
const GIF = of("GIF89a", little(10, 2), little(20, 2), [0x80, 0, 0], Array(6).fill(0), [0x21, 0xf9, 4, 0, 0, 0, 0, 0], [0x2c, ...little(5, 2), ...little(0, 2), ...little(60_000, 2), ...little(50_000, 2)]);
const WEBP = (chunk: string, rest: number[]) => of("RIFF", little(100, 4), "WEBP", chunk, little(10, 4), rest);
const AVIF = of(big(28, 4), "ftypavif", big(0, 4), "avifmif1miaf", big(48, 4), "meta", big(20, 4), "ispe", big(0, 4), big(10, 4), big(10, 4), big(20, 4), "ispe", big(0, 4), big(9000, 4), big(9000, 4));
const IMAGES: [string, Uint8Array, number, number][] = [
  ["image/png", PNG, 4000, 3000],
  ["image/jpeg", PLAIN_JPEG, 640, 480],
  ["image/gif", GIF, 60_005, 50_000],
  ["image/bmp", of("BM", Array(12).fill(0), little(40, 4), little(7, 4), little(2 ** 32 - 5, 4), [1, 0, 24, 0]), 7, 5],
  ["image/webp", WEBP("VP8X", [0, 0, 0, 0, ...little(16_000, 3), ...little(99, 3)]), 16_001, 100],
  ["image/webp", WEBP("VP8 ", [0, 0, 0, 0x9d, 0x01, 0x2a, ...little(320, 2), ...little(200, 2)]), 320, 200],
  ["image/webp", WEBP("VP8L", [0x2f, ...little(1919 | (1079 << 14), 4)]), 1920, 1080],
  ["image/avif", AVIF, 9000, 9000],
];

describe("how large a picture becomes", () => {
  test.each(IMAGES)("is told by its header: %s", (type, bytes, width, height) => {
    expect(kindOf(bytes, true)).toEqual({ kind: "image", mediaType: type });
    expect(sizeOf(bytes, type)).toEqual({ width, height });
  });

  test("is not known of a header that is cut short, and then the picture is not decoded", () => {
    for (const [type, bytes, width, height] of IMAGES) {
      for (let end = 0; end < bytes.length; end++) {
        expect([null, { width, height }], `${type}, ${end} bytes`).toContainEqual(sizeOf(bytes.subarray(0, end), type));
      }
      expect(isModest(sizeOf(bytes.subarray(0, 17), type))).toBe(false);
    }
  });

  test("is not believed where a decoder would read on elsewhere", () => {
    // A marker without a length, behind which a decoder looks for the next one.
    expect(sizeOf(of([0xff, 0xd8, 0xff, 0xd0], big(21, 2), frame(65_000, 65_000), frame(10, 10)), "image/jpeg")).toBe(null);
    // Sizes outside of the box that says what the file is.
    expect(sizeOf(of(big(20, 4), "ftypavif", big(0, 4), "avif", big(28, 4), "free", big(20, 4), "ispe", big(0, 4), big(10, 4), big(10, 4)), "image/avif")).toBe(null);
    expect(sizeOf(of("\x89PNG\r\n\x1a\n", big(8, 4), "tEXt", big(10, 4), big(10, 4)), "image/png")).toBe(null);
  });

  test("bounds what is decoded", () => {
    // 64 million pixels of four bytes are the 256 MB that are granted.
    expect(isModest({ width: 8_000, height: 8_000 })).toBe(true);
    expect(isModest({ width: 64_000_000, height: 1 })).toBe(true);
    expect(isModest({ width: 64_000_001, height: 1 })).toBe(false);
    expect(isModest({ width: 100_000, height: 100_000 })).toBe(false);
    expect(isModest(null)).toBe(false);
  });

  test("comes to an end on any bytes", () => {
    let state = 1;
    const random = () => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) >>> 16;
    for (let round = 0; round < 3_000; round++) {
      const [type, bytes] = IMAGES[round % IMAGES.length]!;
      const altered = Uint8Array.from(bytes);
      for (let changes = 0; changes < 4; changes++) altered[random() % altered.length] = random();
      sizeOf(altered, type);
      cameraPicture(altered);
    }
  });
});

/** A JPEG with EXIF, whose directories are written with the given byte order. */
function withCamera(order: "II" | "MM", small: Uint8Array, turn: number, claimed = small.length): Uint8Array<ArrayBuffer> {
  const number = order === "II" ? little : big;
  const tag = (id: number, kind: number, value: number) => [...number(id, 2), ...number(kind, 2), ...number(1, 4), ...(kind === 3 ? [...number(value, 2), 0, 0] : number(value, 4))];
  const second = 8 + 2 + 12 + 4;
  const start = second + 2 + 24 + 4;
  const exif = [...text(order), ...number(42, 2), ...number(8, 4), ...number(1, 2), ...tag(0x0112, 3, turn), ...number(second, 4),
    ...number(2, 2), ...tag(0x0201, 4, start), ...tag(0x0202, 4, claimed), ...number(0, 4), ...small];
  return of([0xff, 0xd8, 0xff, 0xe1, ...big(exif.length + 8, 2)], "Exif\0\0", exif, frame(4000, 3000), [0xff, 0xda]);
}

describe("a camera's small picture", () => {
  test.each(["II", "MM"] as const)("is found, and how it is turned: %s", (order) => {
    expect(cameraPicture(withCamera(order, PLAIN_JPEG, 6))).toEqual({ bytes: PLAIN_JPEG, turn: 6 });
    expect(sizeOf(withCamera(order, PLAIN_JPEG, 6), "image/jpeg")).toEqual({ width: 4000, height: 3000 });
  });

  test("is not believed to be longer than it is, nor to be anything else", () => {
    expect(cameraPicture(withCamera("MM", PLAIN_JPEG, 1, 1e9))).toBe(null);
    expect(cameraPicture(withCamera("MM", PNG, 1))).toBe(null);
    expect(cameraPicture(withCamera("II", PLAIN_JPEG, 77))?.turn).toBe(1);
    expect(cameraPicture(of(PLAIN_JPEG as unknown as number[]))).toBe(null);
  });
});

describe("a file is a sound or a film", () => {
  test("by its bytes", () => {
    expect(mediaTypeOf(of("RIFF", little(100, 4), "WAVEfmt "))).toBe("audio/wav");
    expect(mediaTypeOf(of(big(32, 4), "ftypisom", big(512, 4)))).toBe("video/mp4");
    expect(mediaTypeOf(of(big(32, 4), "ftypM4A ", big(512, 4)))).toBe("audio/mp4");
    expect(mediaTypeOf(of([0x1a, 0x45, 0xdf, 0xa3]))).toBe("video/webm");
    expect(mediaTypeOf(of("ID3"))).toBe("audio/mpeg");
    expect(mediaTypeOf(of([0xff, 0xfb, 0x90, 0x64]))).toBe("audio/mpeg");
    expect(mediaTypeOf(of([0xff, 0xf1, 0x50, 0x80]))).toBe("audio/aac");
    expect(mediaTypeOf(of("OggS"))).toBe("audio/ogg");
  });

  test("and what is active content is neither a picture nor played", () => {
    for (const active of ["<!doctype html><script>alert(1)</script>", '<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>', "\ufeff<html>", "#!/bin/sh"]) {
      expect(kindOf(new TextEncoder().encode(active), false)).toEqual({ kind: "text", mediaType: null });
    }
    expect(kindOf(of("%PDF-1.7\n"), false).kind).toBe("pdf");
    expect(mediaTypeOf(of([0xff, 0xff, 0xff, 0xff]))).toBe(null);
  });
});
