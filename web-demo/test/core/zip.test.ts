import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Crc32, ZipWriter } from "../../src/core/zip";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "copal-zip-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

/** Bytes that may be written anywhere. */
class Memory {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  length = 0;

  async write(bytes: Uint8Array<ArrayBuffer>, at: number): Promise<void> {
    const end = at + bytes.length;
    if (end > this.bytes.length) {
      const grown = new Uint8Array(2 * end);
      grown.set(this.bytes);
      this.bytes = grown;
    }
    this.bytes.set(bytes, at);
    this.length = Math.max(this.length, end);
  }

  async truncate(length: number): Promise<void> {
    this.length = length;
  }
}

const READ = `
import sys, zipfile, json
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None
    print(json.dumps([[i.filename, i.file_size, list(i.date_time), i.external_attr >> 16, z.read(i)[:40].hex()] for i in z.infolist()]))
`;

function read(target: Memory): [name: string, size: number, date: number[], mode: number, head: string][] {
  const path = join(folder, "a.zip");
  writeFileSync(path, target.bytes.subarray(0, target.length));
  return JSON.parse(execFileSync("python3", ["-c", READ, path], { encoding: "utf8", maxBuffer: 64 << 20 }));
}

const text = (content: string) => new TextEncoder().encode(content);
const entry = (path: string, mode: number | null = null) => ({ path, modified: new Date(2024, 1, 29, 12, 34, 56).getTime(), mode });

test("what another program reads is what was written, with Unicode names, times and modes", async () => {
  const target = new Memory();
  const zip = new ZipWriter(target);
  await zip.directory(entry("päth"));
  await zip.begin(entry("päth/\u{1f600}.txt", 0o640), 11);
  await zip.data(text("hello "));
  await zip.data(text("world"));
  await zip.end();
  await zip.begin(entry("empty"), 0);
  await zip.end();
  await zip.link(entry("link"), "päth");
  expect(await zip.finish()).toBe(target.length);
  expect(read(target)).toEqual([
    ["päth/", 0, [2024, 2, 29, 12, 34, 56], 0o040755, ""],
    ["päth/\u{1f600}.txt", 11, [2024, 2, 29, 12, 34, 56], 0o100640, Buffer.from("hello world").toString("hex")],
    ["empty", 0, [2024, 2, 29, 12, 34, 56], 0o100644, ""],
    ["link", 4 + 1, [2024, 2, 29, 12, 34, 56], 0o120755, Buffer.from("päth").toString("hex")],
  ]);
});

test("a file that was taken back is not in the archive, nor are its bytes", async () => {
  const target = new Memory();
  const zip = new ZipWriter(target);
  await zip.begin(entry("bad"), 1_000);
  await zip.data(text("SECRET"));
  await zip.abort();
  await zip.begin(entry("good"), 2);
  await zip.data(text("ok"));
  await zip.end();
  await zip.finish();
  expect(read(target).map(([name]) => name)).toEqual(["good"]);
  expect(Buffer.from(target.bytes.subarray(0, target.length)).includes("SECRET")).toBe(false);
});

const TIMES = `
import sys, zipfile, json, struct
def modified(extra):
    while extra:
        tag, size = struct.unpack('<HH', extra[:4])
        field, extra = extra[4:4 + size], extra[4 + size:]
        if tag == 0x5455: return struct.unpack('<i', field[1:5])[0]
        if tag == 0x000a: return struct.unpack('<Q', field[8:16])[0] / 10**7 - 11644473600
with zipfile.ZipFile(sys.argv[1]) as z:
    print(json.dumps([[i.filename, list(i.date_time)[:3], modified(i.extra)] for i in z.infolist()]))
`;

async function ofTimes(times: Record<string, number>): Promise<string> {
  const target = new Memory();
  const zip = new ZipWriter(target);
  for (const [path, modified] of Object.entries(times)) {
    await zip.begin({ path, modified, mode: null }, 0);
    await zip.end();
  }
  await zip.finish();
  const path = join(folder, "times.zip");
  writeFileSync(path, target.bytes.subarray(0, target.length));
  return path;
}

test("every time is kept to the second in UTC, and the old field has the nearest that it can hold", async () => {
  const path = await ofTimes({
    "1850": Date.UTC(1850, 5, 1), "1965": Date.UTC(1965, 5, 1, 12, 0, 1), "1979": Date.UTC(1979, 5, 1),
    "2024": Date.UTC(2024, 1, 29, 12, 34, 57), "2050": Date.UTC(2050, 5, 1), "2200": Date.UTC(2200, 5, 1),
  });
  expect(JSON.parse(execFileSync("python3", ["-c", TIMES, path], { encoding: "utf8" }))).toEqual([
    ["1850", [1980, 1, 1], Date.UTC(1850, 5, 1) / 1000],
    ["1965", [1980, 1, 1], Date.UTC(1965, 5, 1, 12, 0, 1) / 1000],
    ["1979", [1980, 1, 1], Date.UTC(1979, 5, 1) / 1000],
    ["2024", [2024, 2, 29], Date.UTC(2024, 1, 29, 12, 34, 57) / 1000],
    ["2050", [2050, 6, 1], Date.UTC(2050, 5, 1) / 1000],
    ["2200", [2107, 12, 31], Date.UTC(2200, 5, 1) / 1000],
  ]);
});

test("a file of before 1980 and one of an odd second are unpacked with their times, in any time zone", async () => {
  const times = { "1979": Date.UTC(1979, 5, 1), "2024": Date.UTC(2024, 1, 29, 12, 34, 57) };
  const path = await ofTimes(times);
  // Of Info-ZIP; apt-get install unzip.
  execFileSync("unzip", ["-q", path, "-d", folder], { env: { ...process.env, TZ: "Pacific/Auckland" } });
  expect(Object.keys(times).map((name) => statSync(join(folder, name)).mtimeMs)).toEqual(Object.values(times));
});

test("a file of another size than was said is a mistake", async () => {
  const zip = new ZipWriter(new Memory());
  await zip.begin(entry("a"), 3);
  await zip.data(text("ab"));
  await expect(zip.end()).rejects.toThrow(RangeError);
});

test("more entries than the old format counts are read back", async () => {
  const target = new Memory();
  const zip = new ZipWriter(target);
  for (let at = 0; at < 70_000; at++) {
    await zip.begin({ path: `d/${at}`, modified: null, mode: null }, 0);
    await zip.end();
  }
  await zip.finish();
  expect(read(target).length).toBe(70_000);
});

test("files and archives beyond 4 GiB are read back", async () => {
  // A sparse file: the zeros between are never written.
  const { openSync, writeSync, ftruncateSync, closeSync } = await import("node:fs");
  const path = join(folder, "large.zip");
  const handle = openSync(path, "w");
  const size = 0x1_0000_0010;
  const block = new Uint8Array(1 << 24);
  const target = {
    write: async (bytes: Uint8Array<ArrayBuffer>, at: number) => {
      if (bytes !== block) writeSync(handle, bytes, 0, bytes.length, at);
    },
    truncate: async (length: number) => ftruncateSync(handle, length),
  };
  // The checksum of 4 GiB of zeros is nobody's question here.
  const add = Crc32.prototype.add;
  vi.spyOn(Crc32.prototype, "add").mockImplementation(function (this: Crc32, bytes) {
    if (bytes !== block) add.call(this, bytes);
  });
  const zip = new ZipWriter(target);
  await zip.begin(entry("huge"), size);
  for (let left = size; left > 0; left -= block.length) await zip.data(left >= block.length ? block : new Uint8Array(left));
  await zip.end();
  await zip.begin(entry("behind"), 2);
  await zip.data(text("ok"));
  await zip.end();
  await zip.finish();
  closeSync(handle);
  const script = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nprint([(i.filename, i.file_size, i.header_offset > 2**32) for i in z.infolist()], z.read('behind'))";
  expect(execFileSync("python3", ["-c", script, path], { encoding: "utf8" }).trim()).toBe(`[('huge', ${size}, False), ('behind', 2, True)] b'ok'`);
});

test("the checksum is that of zlib, however the bytes arrive", () => {
  const bytes = readFileSync(process.execPath).subarray(0, 100_003);
  for (const piece of [1, 7, 8, 9, 4_096, 100_003]) {
    const crc = new Crc32();
    for (let at = 0; at < bytes.length; at += piece) crc.add(bytes.subarray(at, at + piece));
    expect(crc.value, `piece ${piece}`).toBe(crc32(bytes));
  }
});
