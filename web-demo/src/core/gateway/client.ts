//! Gateway: the one way to the repository. Requests are signed; what comes back is checked by who asked.

import { fromHex, toHex } from "../digits";
import { failure, problem } from "../problem";
import { type Answerer, clockAhead, isAbsence, isLost, isOfGateway, refused } from "./refusal";
import { BRIEF, Passing, type Patience, type Surroundings, retried } from "./retry";
import { isPlain, newestBelieved } from "./roots";
import type { Upload } from "./upload";

/** Signs requests: gives the headers that a request has to carry. */
export interface Signer {
  headers(request: { method: string; uri: string; digest: Uint8Array; seconds: number }): Promise<Record<string, string>>;
}

/** What a gateway says of its repository before anybody has signed anything. */
export interface Greeting {
  repository: string;
  owner: string;
  version: number;
  descriptor: Uint8Array;
  transfers: "direct" | "presigned";
  slots: "open" | "signed";
}

/** An object as a listing names it. */
export interface Listed {
  key: string;
  length: number;
  /** Milliseconds since 1970, by the store's clock. */
  created: number;
}

/** First and last byte. */
export type Range = readonly [first: number, last: number];

export interface Options {
  /** Such as `https://backup.example`; signed as part of every address. */
  origin: string;
  fetch: typeof fetch;
  /** For what may take its time on the way. */
  upload: Upload;
  surroundings: Surroundings;
  digest: (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>;
}

/** A client of one gateway. */
export class Gateway {
  #signer: Signer | null = null;
  #transfers: "direct" | "presigned" = "direct";
  /** Seconds that the server's clock is ahead of this one, where that is so much that signatures would not count. */
  #skew = 0;
  /** Milliseconds that the server's clock is ahead of this one, as its greeting told. */
  #ahead = 0;

  constructor(private readonly options: Options) {}

  /** Uses a key from now on; none is needed for what anybody may ask. */
  signWith(signer: Signer | null): void {
    this.#signer = signer;
  }

  /** The same way with another key. */
  as(signer: Signer): Gateway {
    const other = new Gateway(this.options);
    [other.#signer, other.#transfers, other.#skew] = [signer, this.#transfers, this.#skew];
    return other;
  }

  /** Whether there is a key to sign with. */
  get isSigning(): boolean {
    return this.#signer !== null;
  }

  /** What the gateway says of its repository. */
  async greeting(patience: Patience): Promise<Greeting> {
    const body = await this.#json(patience, "GET", "/v1/repository", null, false);
    const greeting: Greeting = {
      repository: text(body["repository"]),
      owner: text(body["owner"]),
      version: integer(body["version"]),
      descriptor: fromBase64(text(body["descriptor"])),
      transfers: body["transfers"] === "presigned" ? "presigned" : "direct",
      slots: body["slots"] === "open" ? "open" : "signed",
    };
    this.#transfers = greeting.transfers;
    this.#ahead = 1000 * integer(body["time"]) - this.options.surroundings.now();
    return greeting;
  }

  /** Milliseconds since 1970 by the server's clock, to about a second. */
  now(): number {
    return this.options.surroundings.now() + this.#ahead;
  }

  /** Nanoseconds by the clock that dates the objects. */
  async time(patience: Patience): Promise<bigint> {
    const body = await this.#json(patience, "GET", "/v1/time");
    return BigInt(text(body["now"]));
  }

  /** The jobs of the service's schedule, as it tells of them. */
  async jobs(patience: Patience): Promise<Record<string, unknown>[]> {
    const body = await this.#json(patience, "GET", "/v1/jobs");
    return Array.isArray(body["jobs"]) ? (body["jobs"] as Record<string, unknown>[]) : [];
  }

  /** Orders one run of a job. */
  async order(patience: Patience, job: string): Promise<void> {
    await this.#json(patience, "POST", "/v1/jobs", JSON.stringify({ job }));
  }

  /** The quotas of this client. */
  async quota(patience: Patience): Promise<Record<string, unknown>> {
    return this.#json(patience, "GET", "/v1/quota");
  }

  /** The newest root's name; null where nothing was accepted yet. Asked of the store, since what a gateway says of the state
   * may be some seconds old. */
  async newestRoot(patience: Patience): Promise<string | null> {
    const body = await this.#json(patience, "GET", "/v1/objects?prefix=roots%2F&limit=1");
    // Numbers are written so that the newest comes first.
    const first = (body["objects"] as { key: string }[])[0]?.key ?? null;
    if (first === null || isPlain(first)) return first;
    return newestBelieved((await this.list(patience, "roots/")).map(({ key }) => key));
  }

  /** All objects below a prefix, in byte order. */
  async list(patience: Patience, prefix: string, after: string | null = null): Promise<Listed[]> {
    const listed: Listed[] = [];
    for (let next = after, more = true; more; ) {
      const query = new URLSearchParams({ prefix });
      if (next !== null) query.set("after", next);
      const body = await this.#json(patience, "GET", `/v1/objects?${query}`, null, !isOpen(prefix) && this.isSigning);
      const page = body["objects"] as { key: string; length: number; created: string }[];
      for (const { key, length, created } of page) {
        listed.push({ key, length, created: Number(BigInt(created) / 1_000_000n) });
      }
      more = body["more"] === true && page.length > 0;
      next = page.at(-1)?.key ?? null;
    }
    return listed;
  }

  /** An object's bytes, or a part of them; null if there is no such object, and of a pack if it has no such part or cannot be
   * read. */
  async read(patience: Patience, key: string, range: Range | null = null): Promise<Uint8Array<ArrayBuffer> | null> {
    return retried(this.options.surroundings, patience, async () => {
      const response = await this.#get(patience, key, range);
      if (response === null) return null;
      const bytes = new Uint8Array(await passing(response.arrayBuffer()));
      const expected = range && range[1] - range[0] + 1;
      if (expected === null || bytes.length === expected) return bytes;
      // The object ends before that, or the answer broke off.
      const total = Number(/\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1] ?? Infinity);
      if (isPack(key) && total <= range![1]) return null;
      throw new Passing(problem("server-failed"));
    });
  }

  /** An object's length; null if there is no such object. */
  async length(patience: Patience, key: string): Promise<number | null> {
    return retried(this.options.surroundings, patience, async () => {
      const response = await this.#send("HEAD", `/v1/objects/${key}`, null, true, patience);
      if (await isAbsence(response, "gateway")) return null;
      if (!response.ok) throw await refused(response);
      return Number(response.headers.get("content-length"));
    });
  }

  /** The answer to a manifest; null while it is not decided. */
  async receipt(patience: Patience, client: string, number: number): Promise<Uint8Array<ArrayBuffer> | null> {
    return retried(this.options.surroundings, patience, async () => {
      const response = await this.#send("GET", `/v1/receipts/${client}/${number}`, null, true, patience);
      if (await isAbsence(response, "gateway")) return null;
      if (!response.ok) throw await refused(response);
      return new Uint8Array(await passing(response.arrayBuffer()));
    });
  }

  /** Creates an object. False if one of that name was there: what it holds is for the caller to find out. `sent` is told how much
   * is on its way; each try begins anew. */
  async create(patience: Patience, key: string, bytes: Uint8Array<ArrayBuffer>, sha256: Uint8Array | null = null, sent: Sent | null = null): Promise<boolean> {
    const digest = sha256 ?? (await this.options.digest(bytes));
    return retried(this.options.surroundings, patience, async () => {
      const [response, from] = await this.#put(patience, key, { bytes, digest, sent });
      if (response.ok) return true;
      // A store behind presigned addresses answers 412 itself, and 409 while two are at it.
      if (response.status === 412) return false;
      throw await refused(response, from);
    });
  }

  /** Deletes an object, whether it was there or not. */
  async remove(patience: Patience, key: string): Promise<void> {
    await retried(this.options.surroundings, patience, async () => {
      const response = await this.#send("DELETE", `/v1/objects/${key}`, null, true, patience);
      if (!response.ok && !(await isAbsence(response, "gateway"))) throw await refused(response);
    });
  }

  /** Asks for anything else that a gateway answers in JSON. */
  ask(patience: Patience, method: string, path: string, payload: string | null = null): Promise<Record<string, unknown>> {
    return this.#json(patience, method, path, payload);
  }

  async #put(patience: Patience, key: string, body: Body): Promise<[Response, Answerer]> {
    const { bytes, digest } = body;
    if (this.#transfers === "direct") {
      return [await this.#send("PUT", `/v1/objects/${key}`, body, true, patience, { "if-none-match": "*" }), "gateway"];
    }
    const wanted = JSON.stringify({ objects: [{ key, length: bytes.length, sha256: toHex(digest) }] });
    const answer = await this.#once(patience, "POST", "/v1/uploads", await this.#body(wanted), true);
    const handed = handedIn(answer);
    return [await this.#follow(handed, body, patience), answererOf(handed)];
  }

  async #get(patience: Patience, key: string, range: Range | null): Promise<Response | null> {
    const headers: Record<string, string> = range ? { range: `bytes=${range[0]}-${range[1]}` } : {};
    let response: Response;
    let from: Answerer = "gateway";
    if (this.#transfers === "direct" || this.#signer === null) {
      response = await this.#send("GET", `/v1/objects/${key}`, null, !isOpen(key) && this.#signer !== null, patience, headers);
    } else {
      const named = JSON.stringify({ objects: [range ? { key, range } : { key }] });
      const body = await this.#body(named);
      const asked = await this.#send("POST", "/v1/downloads", body, true, patience);
      if (await isAbsence(asked, "gateway")) return null;
      if (!asked.ok) throw await refused(asked);
      const handed = handedIn((await passing(asked.json())) as Record<string, unknown>);
      from = answererOf(handed);
      response = await this.#follow(handed, null, patience);
    }
    if (response.ok) return response;
    if ((await isAbsence(response, from)) || (isPack(key) && (await isLost(response, from)))) return null;
    throw await refused(response, from);
  }

  /** Does what the gateway has handed out an address for. */
  async #follow(one: Handed, body: Body | null, patience: Patience): Promise<Response> {
    // These two the browser sends by itself, and lets nobody else do.
    const headers = Object.fromEntries(Object.entries(one.headers).filter(([name]) => name !== "content-length" && name !== "host"));
    if (one.signed) return this.#sendTo(one.method, one.url, body, true, patience, headers);
    const init: RequestInit = { method: one.method, headers, signal: patience.signal, credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" };
    return reached(this.#given(one.url, init, body), patience.signal);
  }

  async #json(patience: Patience, method: string, path: string, payload: string | null = null, isSigned = true): Promise<Record<string, unknown>> {
    const body = payload === null ? null : await this.#body(payload);
    return retried(this.options.surroundings, patience, () => this.#once(patience, method, path, body, isSigned));
  }

  async #once(patience: Patience, method: string, path: string, body: Body | null, isSigned: boolean): Promise<Record<string, unknown>> {
    const response = await this.#send(method, path, body, isSigned, patience);
    if (!response.ok) throw await refused(response);
    return (await passing(response.json())) as Record<string, unknown>;
  }

  async #body(payload: string): Promise<Body> {
    const bytes = new TextEncoder().encode(payload);
    return { bytes, digest: await this.options.digest(bytes) };
  }

  #send(method: string, path: string, body: Body | null, isSigned: boolean, patience: Patience, headers: Record<string, string> = {}): Promise<Response> {
    return this.#sendTo(method, `${this.options.origin}${path}`, body, isSigned, patience, headers);
  }

  async #sendTo(
    method: string,
    uri: string,
    body: Body | null,
    isSigned: boolean,
    patience: Patience,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const { surroundings } = this.options;
    for (let isFirst = true; ; isFirst = false) {
      const all = { ...headers };
      const skew = this.#skew;
      if (isSigned) {
        if (!this.#signer) throw failure("locked");
        const seconds = Math.floor(surroundings.now() / 1000) + skew;
        Object.assign(all, await this.#signer.headers({ method, uri, digest: body?.digest ?? EMPTY, seconds }));
      }
      const init: RequestInit = { method, headers: all, signal: patience.signal, credentials: "omit", cache: "no-store", redirect: "error" };
      const response = await reached(this.#given(uri, init, body), patience.signal);
      if (response.ok && !isOfGateway(method, response)) throw new Passing(problem("server-gone"));
      const ahead = isSigned && isFirst && response.status === 401 ? await clockAhead(response.clone()) : null;
      if (ahead === null) return response;
      // Only what is signed is dated so: the server alone can say by which clock it is judged. It has judged this request;
      // meanwhile another one may have corrected the skew.
      this.#skew = skew - ahead;
    }
  }

  #given(url: string, init: RequestInit, body: Body | null): Promise<Response> {
    const { fetch, upload } = this.options;
    const whole: RequestInit = body ? { ...init, body: sendable(body.bytes) } : init;
    return body?.sent ? upload(url, whole, body.sent) : fetch(url, whole);
  }
}

/** Told how many bytes of a body have gone. */
export type Sent = (bytes: number) => void;

interface Body {
  bytes: Uint8Array<ArrayBuffer>;
  digest: Uint8Array;
  sent?: Sent | null;
}

interface Handed {
  key: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  signed: boolean;
}

/** The address that a gateway has handed out for the one object it was asked for. */
function handedIn(answer: Record<string, unknown>): Handed {
  const one = (answer["objects"] as Handed[] | undefined)?.[0];
  if (!one) throw failure("server-failed");
  return one;
}

function answererOf(handed: Handed): Answerer {
  return handed.signed ? "gateway" : "store";
}

/** A request that does not arrive may arrive later. */
async function reached(sent: Promise<Response>, signal: AbortSignal): Promise<Response> {
  return sent.catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof TypeError) throw new Passing(problem("server-gone"));
    throw error;
  });
}

/** An answer that breaks off may come whole the next time. */
async function passing<T>(body: Promise<T>): Promise<T> {
  return body.catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Passing(problem("server-gone"));
  });
}

/** What a request is given to send. Chromium copies bytes into the request and keeps the copy until the request is collected,
 * which nothing hurries: the collector does not count it. A `Blob` goes to the browser's own process at once, which lets go of it
 * when the tab has collected it: with the buffers that it was made of, which are counted. */
function sendable(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | Blob {
  return bytes.length > SMALL ? new Blob([bytes]) : bytes;
}

/** What may have copies elsewhere. */
function isPack(key: string): boolean {
  return key.startsWith("packs/") || key.startsWith("moved/");
}

/** What anybody may read. */
function isOpen(key: string): boolean {
  return key.startsWith("copal/");
}

function text(value: unknown): string {
  if (typeof value !== "string") throw failure("server-failed");
  return value;
}

function integer(value: unknown): number {
  if (!Number.isSafeInteger(value)) throw failure("server-failed");
  return value as number;
}

/** Bytes of standard base64. */
export function fromBase64(encoded: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(encoded), (sign) => sign.charCodeAt(0));
}

/** Standard base64 of bytes. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** What is asked for while somebody waits. */
export function brief(signal: AbortSignal = new AbortController().signal): Patience {
  return { tries: BRIEF, signal };
}

/** SHA-256 of nothing. */
const EMPTY = fromHex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
/** Bytes of a body that may lie about. */
const SMALL = 64 << 10;
