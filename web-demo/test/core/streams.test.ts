import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { describe, expect, test, vi } from "vitest";

import { type Asked, Streams, type Told } from "../../src/core/look/streams";
import { failure } from "../../src/core/problem";

const FILM = Uint8Array.from({ length: 11 << 20 }, (_, at) => at % 251);
const workers = () => ({ controller: {}, register: vi.fn(async () => ({})), getRegistration: async () => undefined, addEventListener: vi.fn() }) as unknown as ServiceWorkerContainer;
const read = async (_: string, file: string, start: number, end: number) => {
  if (file === "damaged" && end > 4 << 20) throw failure("damaged", "film.mp4");
  return { bytes: FILM.slice(start, end), total: FILM.length };
};

describe("pieces of a film", () => {
  test("are at most four MiB, and the first of an answer at most one", async () => {
    const streams = new Streams(read, workers());
    const name = (await streams.open("s", "film", "video/mp4")).address.slice("/media/".length);
    const lengths = [];
    for (const [start, isFirst] of [[0, true], [700_000, true], [1 << 20, false], [4 << 20, false], [(11 << 20) - 5, false]] as const) {
      const told = await streams.answer({ name, start, isFirst });
      lengths.push(told!.bytes.byteLength);
    }
    expect(lengths).toEqual([1 << 20, (1 << 20) - 700_000, 3 << 20, 4 << 20, 5]);
  });

  test("are handed out under no other name, and none once it is closed or the page is locked", async () => {
    const streams = new Streams(read, workers());
    const [one, two] = [await streams.open("s", "a", "video/mp4"), await streams.open("s", "b", "video/mp4")];
    const told = (stream: { address: string }) => streams.answer({ name: stream.address.slice("/media/".length), start: 0, isFirst: true });
    expect(await streams.answer({ name: "guess", start: 0, isFirst: true })).toBe(null);
    expect(await streams.answer({ name: one.address.slice("/media/".length), start: -1, isFirst: true })).toBe(null);
    const late = told(one);
    one.end();
    expect([await late, await told(one)]).toEqual([null, null]);
    expect(await told(two)).not.toBe(null);
    streams.forget();
    expect(await told(two)).toBe(null);
  });

  test("that are damaged are told to whoever watches, and not handed out", async () => {
    const streams = new Streams(read, workers());
    const stream = await streams.open("s", "damaged", "video/mp4");
    const told = vi.fn();
    stream.onProblem(told);
    const name = stream.address.slice("/media/".length);
    expect(await streams.answer({ name, start: 4 << 20, isFirst: false })).toBe(null);
    expect(told).toHaveBeenCalledWith(expect.objectContaining({ code: "damaged", subject: "film.mp4" }));
  });

  test("are offered by no browser without service workers", async () => {
    await expect(new Streams(read, undefined).open("s", "film", "video/mp4")).rejects.toMatchObject({ problem: { code: "unsupported" } });
  });
});

/** The worker of the page, in a world of its own, and a page that answers it. */
function worker(tell: (asked: Asked) => Told = ({ start, isFirst }) => ({ bytes: FILM.slice(start, start + (isFirst ? 1_000 : 5_000)).buffer, total: FILM.length, mediaType: "video/mp4" })) {
  const listeners: Record<string, (event: unknown) => void> = {};
  const asked: Asked[] = [];
  const page = {
    postMessage(data: Asked, [port]: MessagePort[]) {
      asked.push(data);
      port!.postMessage(tell(data));
      port!.close();
    },
  };
  const self = {
    addEventListener: (name: string, listener: (event: unknown) => void) => (listeners[name] = listener),
    skipWaiting: () => {},
    clients: { get: async (id: string) => (id === "page" ? page : undefined), claim: async () => {} },
  };
  runInNewContext(readFileSync(join(import.meta.dirname, "../../public/media.js"), "utf8"), {
    self, location: { origin: "https://copal.example" }, URL, Response, ReadableStream, MessageChannel, Promise, Error, Number, Math, String, Uint8Array,
    caches: { keys: async () => [] }, fetch: async () => "as the server has it",
  });
  const fetch = async (path: string, request: { destination?: string; method?: string; range?: string; from?: string } = {}): Promise<Response | null> => {
    let answer: Promise<Response> | null = null;
    const headers = new Headers(request.range ? { range: request.range } : {});
    listeners["fetch"]!({
      request: { url: `https://copal.example${path}`, method: request.method ?? "GET", destination: request.destination ?? "video", headers },
      clientId: request.from ?? "page",
      respondWith: (given: Promise<Response>) => (answer = given),
    });
    return answer;
  };
  return { fetch, asked };
}

describe("the worker that answers players", () => {
  test("gives the range that is asked for, piece by piece", async () => {
    const { fetch, asked } = worker();
    const answer = (await fetch("/media/a", { range: "bytes=200-9999" }))!;
    expect([answer.status, answer.headers.get("content-range"), answer.headers.get("content-type")]).toEqual([206, `bytes 200-9999/${FILM.length}`, "video/mp4"]);
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(FILM.slice(200, 10_000));
    expect(asked.map(({ start }) => start)).toEqual([200, 1_200, 6_200]);
  });

  test("asks for no piece that nobody wants yet", async () => {
    const { fetch, asked } = worker();
    const reader = (await fetch("/media/a", { range: "bytes=0-" }))!.body!.getReader();
    expect((await reader.read()).value!.length).toBe(1_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(asked.length).toBe(1);
    await reader.cancel();
    expect(asked.length).toBe(1);
  });

  test("answers players only: no document, frame, script, image or download, and no other page", async () => {
    const { fetch, asked } = worker();
    for (const destination of ["document", "iframe", "frame", "embed", "object", "script", "worker", "style", "image", "font", "track", ""]) {
      const answer = (await fetch("/media/a", { destination }))!;
      expect([destination, answer.status, await answer.text()]).toEqual([destination, 404, ""]);
    }
    expect((await fetch("/media/a", { from: "another" }))!.status).toBe(404);
    expect((await fetch("/media/a", { method: "POST" }))!.status).toBe(404);
    expect(asked).toEqual([]);
    expect(await fetch("/v1/objects")).toBe(null);
    expect(await fetch("/")).toBe("as the server has it");
  });

  test("says of every answer that it is no document, and may do nothing as one", async () => {
    const { fetch } = worker();
    const [film, refusal] = [await fetch("/media/a", { range: "bytes=0-" }), await fetch("/media/a", { destination: "document" })];
    expect(film!.headers.get("content-disposition")).toBe("attachment");
    for (const answer of [film, refusal]) {
      expect(answer!.headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
      expect(answer!.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer!.headers.get("cache-control")).toBe("no-store");
    }
  });

  test("hands out no type but sound and film", async () => {
    for (const mediaType of ["text/html", "image/svg+xml", "application/pdf", "video/mp4; charset=x", "video/html\r\nx"]) {
      const { fetch } = worker(() => ({ bytes: new ArrayBuffer(3), total: 3, mediaType }));
      expect((await fetch("/media/a"))!.status).toBe(404);
    }
  });

  test("breaks off where the page hands out nothing more", async () => {
    const { fetch } = worker(({ start, isFirst }) => (isFirst ? { bytes: FILM.slice(start, start + 10).buffer, total: 100, mediaType: "audio/wav" } : null));
    await expect((await fetch("/media/a", { range: "bytes=0-" }))!.arrayBuffer()).rejects.toThrow();
  });

  test("refuses ranges that make no sense", async () => {
    const { fetch } = worker();
    for (const [range, status] of [["bytes=5-2", 404], ["bytes=-5", 404], ["bytes=0-1,5-6", 404], [`bytes=${FILM.length}-`, 416], ["lines=0-", 404]] as const) {
      expect([range, (await fetch("/media/a", { range }))!.status]).toEqual([range, status]);
    }
  });
});
