import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";

import { fromHex, toHex } from "../../src/core/digits";
import { Gateway, fromBase64, toBase64 } from "../../src/core/gateway/client";
import { Passing, type Surroundings, backoff, retried } from "../../src/core/gateway/retry";
import { Uploads } from "../../src/core/gateway/uploads";
import { failure, problem, problemOf } from "../../src/core/problem";

const ORIGIN = "https://backup.example";
const digest = async (bytes: Uint8Array) => new Uint8Array(createHash("sha256").update(bytes).digest());
const json = (value: unknown, status = 200, headers: Record<string, string> = {}) => new Response(JSON.stringify(value), { status, headers });
const refusal = (name: string, status: number, more: object = {}) => json({ type: `urn:copal:problem:${name}`, detail: "why", ...more }, status);

/** A world whose time goes on only by waiting. */
class World implements Surroundings {
  time = 1_700_000_000_000;
  slept: number[] = [];
  offline = 0;
  now = () => this.time;
  random = () => 1;
  isOnline = () => this.offline === 0;
  sleep = async (ms: number, signal: AbortSignal) => {
    signal.throwIfAborted();
    this.slept.push(ms);
    this.time += ms;
  };
  online = async () => {
    this.offline -= 1;
  };
}

let world: World;
let asked: { method: string; url: string; headers: Record<string, string>; body: string; redirect?: string | undefined }[];
let answers: (Response | Error)[];
let isBlob = false;
beforeEach(() => {
  [world, asked, answers] = [new World(), [], []];
});

let uploaded: string[] = [];

function gateway(): Gateway {
  uploaded = [];
  const made = new Gateway({
    upload: async (url, init, sent) => {
      sent(3);
      uploaded.push(`${init.method} ${url}`);
      return answers.shift() as Response;
    },
    origin: ORIGIN,
    surroundings: world,
    digest,
    fetch: (async (url: string, init: RequestInit) => {
      isBlob = init.body instanceof Blob;
      const body = init.body ? Buffer.from(await new Response(init.body).arrayBuffer()).toString() : "";
      asked.push({ method: init.method!, url, headers: init.headers as Record<string, string>, body, redirect: init.redirect });
      const answer = answers.shift();
      if (!answer) throw new Error(`nothing to answer to ${url}`);
      if (answer instanceof Error) throw answer;
      return answer;
    }) as typeof fetch,
  });
  made.signWith({
    headers: async ({ method, uri, digest, seconds }) => ({ "content-digest": `sha-256=:${toBase64(digest)}:`, signature: `${method} ${uri} ${seconds}` }),
  });
  return made;
}

const patience = (tries = 3) => ({ tries, signal: new AbortController().signal });
const lost = () => new TypeError("fetch failed");

test("what may take its time on the way tells how much has gone, in each try anew", async () => {
  answers = [refusal("busy", 429), json({}, 201)];
  const gone: number[] = [];
  expect(await gateway().create({ tries: 2, signal: new AbortController().signal }, "packs/a", Uint8Array.of(1, 2, 3), null, (bytes) => gone.push(bytes))).toBe(true);
  expect(uploaded).toEqual([`PUT ${ORIGIN}/v1/objects/packs/a`, `PUT ${ORIGIN}/v1/objects/packs/a`]);
  expect(gone).toEqual([3, 3]);
  expect(asked).toEqual([]);
});

describe("gateway", () => {
  test("a pack is sent as a Blob, which the tab does not hold, and once more if it does not arrive", async () => {
    answers = [lost(), new Response(null, { status: 201 })];
    const bytes = new TextEncoder().encode("pack".repeat(50_000));
    expect(await gateway().create(patience(), "packs/ab/abc", bytes)).toBe(true);
    expect(isBlob).toBe(true);
    expect(asked.map(({ body }) => body)).toEqual(["pack".repeat(50_000), "pack".repeat(50_000)]);
  });

  test("a request is signed over its address and its body's digest", async () => {
    answers = [new Response(null, { status: 201 })];
    const bytes = new TextEncoder().encode("abc");
    expect(await gateway().create(patience(), "packs/ab/abc", bytes)).toBe(true);
    const url = `${ORIGIN}/v1/objects/packs/ab/abc`;
    expect(asked[0]).toMatchObject({ method: "PUT", url, body: "abc", redirect: "error" });
    expect(asked[0]!.headers).toEqual({
      "if-none-match": "*",
      "content-digest": "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:",
      signature: `PUT ${url} ${world.time / 1000}`,
    });
  });

  test("what lists and reads is asked for in parts, and every part is whole", async () => {
    const object = (key: string) => ({ key, length: 3, created: "1700000000123456789" });
    answers = [json({ objects: [object("a/1")], more: true }), json({ objects: [object("a/2")], more: false }), new Response("cde", { status: 206 })];
    const site = gateway();
    expect((await site.list(patience(), "a/")).map(({ key }) => key)).toEqual(["a/1", "a/2"]);
    expect(asked[1]!.url).toBe(`${ORIGIN}/v1/objects?prefix=a%2F&after=a%2F1`);
    expect(Buffer.from((await site.read(patience(), "a/1", [2, 4]))!).toString()).toBe("cde");
    expect(asked[2]!.headers["range"]).toBe("bytes=2-4");
  });

  test("a name among the roots that is none, or is too far above the others, is not the newest root's", async () => {
    const name = (number: number) => `roots/${String(10n ** 20n - 1n - BigInt(number)).padStart(20, "0")}`;
    const object = (key: string) => ({ key, length: 3, created: "1700000000123456789" });
    const newest = async (names: string[]) => {
      answers = [json({ objects: names.slice(0, 1).map(object), more: names.length > 1 }), json({ objects: names.map(object), more: false })];
      return await gateway().newestRoot(patience());
    };
    expect(await newest([])).toBeNull();
    expect(await newest([name(7), name(6)])).toBe(name(7));
    expect(answers.length, "one request is enough").toBe(1);
    expect(await newest(["roots/!", `${name(8)}.x`, name(7), name(6)])).toBe(name(7));
    expect(await newest([name(2 ** 52), name(2 ** 52 - 1), name(7)])).toBe(name(7));
    // A high number counts if lower roots lead up to it, or if a rebuild has left no lower ones.
    expect(await newest([name(2 ** 40 + 5), name(7)])).toBe(name(2 ** 40 + 5));
    expect(await newest([name(2 ** 50 + 1), name(2 ** 50)])).toBe(name(2 ** 50 + 1));
    expect(await newest(["roots/!"])).toBeNull();
  });

  test("an answer that is shorter than what was asked for is asked for again", async () => {
    answers = [new Response("cd", { status: 206 }), new Response("cde", { status: 206 })];
    expect((await gateway().read(patience(), "a/1", [2, 4]))!.length).toBe(3);
    expect(asked.length).toBe(2);
  });

  test("of a pack that is too short, or that its server cannot read, nothing is to be had: another copy may be whole", async () => {
    const short = new Response("cd", { status: 206, headers: { "content-range": "bytes 2-3/4" } });
    const lost = [refusal("out-of-range", 416), refusal("store-failed", 500), short];
    for (const answer of lost) {
      answers = [answer];
      expect(await gateway().read(patience(9), "packs/ab/abc", [2, 4])).toBeNull();
    }
    // It broke off: the pack goes on behind it.
    answers = [new Response("cd", { status: 206, headers: { "content-range": "bytes 2-4/9" } }), new Response("cde", { status: 206 })];
    expect((await gateway().read(patience(9), "packs/ab/abc", [2, 4]))!.length).toBe(3);
    // What has no copies elsewhere is not passed over.
    answers = [refusal("store-failed", 500)];
    await expect(gateway().read(patience(9), "index/abc")).rejects.toMatchObject({ problem: { code: "server-failed" } });
  });

  test("of a pack of a bucket that is too short nothing is to be had", async () => {
    const greeting = { repository: "r", owner: "o", version: 1, descriptor: "AAAA", transfers: "presigned", slots: "open", time: 0 };
    const handed = { key: "packs/ab/abc", method: "GET", url: "https://s3.example/k", headers: { range: "bytes=2-4" }, signed: false };
    const word = new Response("<Error><Code>InvalidRange</Code></Error>", { status: 416 });
    answers = [json(greeting), json({ objects: [handed] }), word];
    const site = gateway();
    await site.greeting(patience());
    expect(await site.read(patience(9), "packs/ab/abc", [2, 4])).toBeNull();
  });

  test("what is not there is nothing, and what exists is not created", async () => {
    answers = [refusal("not-found", 404), refusal("exists", 412), refusal("undecided", 404)];
    const site = gateway();
    expect(await site.read(patience(), "a/1")).toBeNull();
    expect(await site.create(patience(), "a/1", new Uint8Array(1))).toBe(false);
    expect(await site.receipt(patience(), "c1", 7)).toBeNull();
  });

  test("the 404 of somebody else says nothing about an object", async () => {
    const site = gateway();
    const bodies = ["", "<html>404 Not Found</html>", "{}", JSON.stringify({ type: "about:blank" }), "<Error><Code>NoSuchKey</Code></Error>"];
    for (const body of bodies) {
      const strange = () => new Response(body, { status: 404 });
      answers = [strange(), new Response("abc")];
      expect((await site.read(patience(), "a/1"))!.length, body).toBe(3);
      answers = [strange(), strange()];
      await expect(site.read(patience(2), "a/1"), body).rejects.toMatchObject({ problem: { code: "server-gone", canRetry: true } });
      answers = [strange(), strange(), strange(), strange()];
      await expect(site.receipt(patience(2), "c1", 7), body).rejects.toMatchObject({ problem: { code: "server-gone" } });
      await expect(site.length(patience(2), "a/1"), body).rejects.toMatchObject({ problem: { code: "server-gone" } });
    }
    answers = [refusal("no-repository", 404)];
    await expect(site.read(patience(), "a/1")).rejects.toMatchObject({ problem: { code: "no-repository" } });
  });

  test("the yes of somebody else, such as a page to log in at, stores and tells nothing", async () => {
    const login = () => new Response("<html>log in", { headers: { "content-type": "text/html; charset=utf-8" } });
    answers = [login(), new Response("", { status: 200 }), new Response("", { status: 201 })];
    expect(await gateway().create({ tries: 6, signal: new AbortController().signal }, "packs/aa", new Uint8Array(3))).toBe(true);
    expect(asked).toHaveLength(3);
    answers = [login(), new Response("abc")];
    expect(await gateway().read({ tries: 6, signal: new AbortController().signal }, "packs/aa")).toEqual(Uint8Array.from([97, 98, 99]));
    answers = [login(), new Response(null, { headers: { "content-length": "3" } })];
    expect(await gateway().length({ tries: 6, signal: new AbortController().signal }, "packs/aa")).toBe(3);
  });

  test("an answer to HEAD has no body, and names what it is all the same", async () => {
    answers = [new Response(null, { status: 404, headers: { "copal-problem": "not-found" } })];
    expect(await gateway().length(patience(), "a/1")).toBeNull();
  });

  test("of a bucket only its word for a missing object is one", async () => {
    const greeting = { repository: "r", owner: "o", version: 1, descriptor: "AAAA", transfers: "presigned", slots: "open", time: 0 };
    const handed = { key: "k", method: "GET", url: "https://s3.example/k", headers: {}, signed: false };
    const told = (status: number, code: string) => new Response(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>why</Message></Error>`, { status });
    answers = [json(greeting)];
    const site = gateway();
    await site.greeting(patience());
    const reading = (tries: number, ...given: Response[]) => {
      answers = given.flatMap((one) => [json({ objects: [handed] }), one]);
      return site.read(patience(tries), "k");
    };
    expect(await reading(1, told(404, "NoSuchKey"))).toBeNull();
    // The gateway's own word, at the bucket's address, is a proxy's.
    const passing = [new Response("", { status: 404 }), refusal("not-found", 404), told(404, "NotFound"), told(503, "SlowDown"), told(400, "RequestTimeout"), new Response("<html>", { status: 502 })];
    for (const one of passing) await expect(reading(1, one)).rejects.toMatchObject({ problem: { canRetry: true } });
    expect((await reading(2, told(404, "NotFound"), new Response("abc")))!.length).toBe(3);
    for (const [status, word, code] of [[404, "NoSuchBucket", "server-failed"], [403, "AccessDenied", "not-permitted"], [507, "XMinioStorageFull", "server-full"]] as const) {
      await expect(reading(9, told(status, word))).rejects.toMatchObject({ problem: { code } });
      expect(answers).toEqual([]);
    }
  });

  test("presigned addresses get what they ask for and no signature", async () => {
    const greeting = { repository: "r", owner: "o", version: 1, descriptor: "AAAA", transfers: "presigned", slots: "open", time: 0 };
    const headers = { "content-length": "3", host: "s3", "if-none-match": "*", "x-amz-checksum-sha256": "c" };
    const handed = { key: "k", method: "PUT", url: "https://s3.example/k?X-Amz-Signature=1", headers, signed: false };
    answers = [json(greeting), json({ objects: [handed] }), new Response(null, { status: 200 })];
    const site = gateway();
    await site.greeting(patience());
    expect(await site.create(patience(), "k", new TextEncoder().encode("abc"))).toBe(true);
    expect(JSON.parse(asked[1]!.body)).toEqual({ objects: [{ key: "k", length: 3, sha256: toHex(await digest(new TextEncoder().encode("abc"))) }] });
    expect(asked[2]).toMatchObject({ url: handed.url, body: "abc", headers: { "if-none-match": "*", "x-amz-checksum-sha256": "c" } });
    expect(Object.keys(asked[2]!.headers).sort()).toEqual(["if-none-match", "x-amz-checksum-sha256"]);
  });

  test("what is presigned is read without following the gateway anywhere", async () => {
    const greeting = { repository: "r", owner: "o", version: 1, descriptor: "AAAA", transfers: "presigned", slots: "open", time: 0 };
    const handed = { key: "k", method: "GET", url: "https://s3.example/k", headers: { range: "bytes=0-1" }, signed: false };
    answers = [json(greeting), json({ objects: [handed] }), new Response("ab", { status: 206 })];
    const site = gateway();
    await site.greeting(patience());
    expect((await site.read(patience(), "k", [0, 1]))!.length).toBe(2);
    expect(asked[2]!.headers).toEqual({ range: "bytes=0-1" });
  });

  test("a clock that is wrong is set by the server's, once", async () => {
    answers = [refusal("clock", 401, { ahead: 3_600, time: 0 }), json({ now: "5" })];
    const site = gateway();
    expect(await site.time(patience())).toBe(5n);
    const seconds = (at: number) => Number(asked[at]!.headers["signature"]!.split(" ")[2]);
    expect(seconds(1)).toBe(seconds(0) - 3_600);
    answers = [refusal("clock", 401, { ahead: 9 }), refusal("clock", 401, { ahead: 9 })];
    await expect(site.time(patience())).rejects.toMatchObject({ problem: { code: "clock-wrong" } });
  });

  test("a clock that is wrong is set once, however many requests have found it wrong", async () => {
    const wrong = () => refusal("clock", 401, { ahead: 3_600, time: 0 });
    answers = [wrong(), wrong(), json({ now: "5" }), json({ now: "6" }), json({ now: "7" })];
    const site = gateway();
    await Promise.all([site.time(patience()), site.time(patience())]);
    await site.time(patience());
    const dated = asked.map(({ headers }) => Number(headers["signature"]!.split(" ")[2]) - Math.floor(world.time / 1000));
    expect(dated).toEqual([0, 0, -3_600, -3_600, -3_600]);
  });

  test("what the server refuses for good is not asked for again", async () => {
    const refusals: [string, number, string][] = [["client-revoked", 403, "device-revoked"], ["quota", 403, "quota"], ["full", 507, "server-full"], ["not-permitted", 403, "not-permitted"]];
    for (const [name, status, code] of refusals) {
      answers = [refusal(name, status)];
      await expect(gateway().create(patience(), "k", new Uint8Array(1))).rejects.toMatchObject({ problem: { code } });
    }
    expect(asked.length).toBe(refusals.length);
  });

  test("what may pass is tried again, and given up in the end", async () => {
    answers = [lost(), refusal("busy", 503), new Response(null, { status: 502 }), new Response(null, { status: 201 })];
    expect(await gateway().create(patience(9), "k", new Uint8Array(1))).toBe(true);
    answers = [lost(), lost(), lost()];
    await expect(gateway().time(patience(3))).rejects.toMatchObject({ problem: { code: "server-gone", canRetry: true } });
  });

  test("without a key nothing is signed or sent", async () => {
    const site = gateway();
    site.signWith(null);
    await expect(site.time(patience())).rejects.toMatchObject({ problem: { code: "locked" } });
    expect(asked).toEqual([]);
  });

  test("bytes and their texts agree", () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
    expect(fromBase64(toBase64(bytes))).toEqual(bytes);
    expect(fromHex(toHex(bytes))).toEqual(bytes);
  });
});

describe("retry", () => {
  test("the wait doubles, with chance in it, up to half a minute", () => {
    expect([1, 2, 3, 20].map((failures) => backoff(failures, 1))).toEqual([500, 1_000, 2_000, 30_000]);
    expect(backoff(1, 0)).toBe(250);
  });

  test("the server's own wish to be left alone is honoured", async () => {
    let calls = 0;
    const result = await retried(world, patience(5), async () => {
      if (calls++ === 0) throw new Passing(problem("busy"), 42);
      return "done";
    });
    expect([result, world.slept]).toEqual(["done", [42_000]]);
  });

  test("being offline costs no patience, and is told", async () => {
    world.offline = 3;
    const told: (string | null)[] = [];
    let calls = 0;
    const onWait = (waiting: { problem: { code: string } } | null) => void told.push(waiting?.problem.code ?? null);
    const result = await retried(world, { ...patience(2), onWait }, async () => {
      if (calls++ < 4) throw new Passing(problem("server-gone"));
      return "done";
    });
    expect([result, world.slept.length, told]).toEqual(["done", 1, ["offline", "offline", "offline", "server-gone", null]]);
  });

  test("whoever cancels waits for nothing", async () => {
    const aborted = new AbortController();
    aborted.abort(failure("cancelled"));
    const work = () => Promise.reject(new Passing(problem("server-gone")));
    await expect(retried(world, { tries: 9, signal: aborted.signal }, work)).rejects.toMatchObject({ problem: { code: "cancelled" } });
  });
});

describe("uploads", () => {
  test("no more than its number are under way, and all end", async () => {
    const uploads = new Uploads(3);
    let [running, most, done] = [0, 0, 0];
    for (let at = 0; at < 20; at++) {
      await uploads.add(async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, at % 4));
        running -= 1;
        done += 1;
      });
    }
    await uploads.all();
    expect([most, done, uploads.size]).toEqual([3, 20, 0]);
  });

  test("a failure reaches whoever adds next, and whoever waits for the end", async () => {
    const uploads = new Uploads(1);
    await uploads.add(() => Promise.reject(failure("server-full")));
    await expect(uploads.add(async () => {})).rejects.toMatchObject({ problem: { code: "server-full" } });
    await expect(uploads.all()).rejects.toMatchObject({ problem: { code: "server-full" } });
  });
});

describe("problems", () => {
  test("what nobody foresaw is told without its text, which may hold anything", () => {
    const told = JSON.stringify(problemOf(new Error("passphrase hunter2")));
    expect(told).not.toContain("hunter2");
    expect(problemOf(Object.assign(new Error("x"), { code: "wrong-passphrase" })).code).toBe("passphrase-wrong");
    expect(problemOf(new DOMException("x", "QuotaExceededError")).code).toBe("browser-full");
  });
});
