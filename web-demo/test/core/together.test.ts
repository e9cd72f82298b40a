import { describe, expect, test } from "vitest";

import { readTogether } from "../../src/core/source/together";

const file = (text: string) => new File([text], "f");
const texts = (contents: Uint8Array[] | null) => contents?.map((bytes) => new TextDecoder().decode(bytes));

/** A file that says it has so many bytes. */
const lying = (text: string, size: number) => Object.defineProperty(file(text), "size", { value: size });

describe("files that are read together", () => {
  test("come each as it is, empty ones too, in one buffer", async () => {
    const contents = await readTogether([file(""), file("one"), file(""), file("three"), file("")]);
    expect(texts(contents)).toEqual(["", "one", "", "three", ""]);
    expect(new Set(contents!.map(({ buffer }) => buffer)).size).toBe(1);
  });

  test("do not come at all if one of them, wherever it stands, has another length than it said", async () => {
    for (const at of [0, 1, 2]) {
      for (const size of [3, 5]) {
        const files = ["zero", "once", "both"].map((text, number) => (number === at ? lying(text, size) : file(text)));
        expect(await readTogether(files), `${at} ${size}`).toBeNull();
      }
    }
  });

  test("do not come at all if two have exchanged bytes", async () => {
    expect(await readTogether([lying("zero", 5), lying("once", 3)])).toBeNull();
  });

  test("do not come at all if one cannot be read", async () => {
    const { arrayBuffer } = Blob.prototype;
    Blob.prototype.arrayBuffer = () => Promise.reject(new DOMException("", "NotReadableError"));
    try {
      expect(await readTogether([file("a"), file("b")])).toBeNull();
    } finally {
      Blob.prototype.arrayBuffer = arrayBuffer;
    }
    expect(texts(await readTogether([file("a"), file("b")]))).toEqual(["a", "b"]);
  });

  test("do not come at all if one that was empty cannot be read any more", async () => {
    const changed = Object.assign(file(""), { arrayBuffer: () => Promise.reject(new DOMException("", "NotReadableError")) });
    expect(await readTogether([file("a"), changed])).toBeNull();
  });

  test("are asked for a few groups at a time, and all come", async () => {
    const { arrayBuffer } = Blob.prototype;
    let [running, most] = [0, 0];
    Blob.prototype.arrayBuffer = async function () {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running--;
      return arrayBuffer.call(this);
    };
    try {
      const all = await Promise.all(Array.from({ length: 20 }, (_, at) => readTogether([file(`${at}`), file("x")])));
      expect(all.map((contents) => texts(contents)![0])).toEqual(Array.from({ length: 20 }, (_, at) => `${at}`));
    } finally {
      Blob.prototype.arrayBuffer = arrayBuffer;
    }
    expect(most).toBe(4);
  });
});
