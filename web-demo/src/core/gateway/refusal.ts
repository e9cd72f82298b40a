//! Refusal: what an answer is that is not the one asked for, of a gateway or of a store behind it.

import type { ProblemCode } from "../api";
import { failure, problem } from "../problem";
import { Passing } from "./retry";

/** Who answers: the gateway, or the store at an address that it has handed out. */
export type Answerer = "gateway" | "store";

/** Whether an answer says that the object is not there. The 404 of anybody else, a proxy or another program at that address,
 * says nothing about it, and neither does that of a bucket that is not there. */
export async function isAbsence(response: Response, from: Answerer): Promise<boolean> {
  if (response.status !== 404) return false;
  if (from === "store") return storesWord(await said(response.clone())) === "NoSuchKey";
  return ABSENT.has(await problemName(response.clone()));
}

/** Whether an answer says that the bytes asked for are not to be had, neither now nor later: the object is shorter than that,
 * or its store cannot read it. Of a pack another copy may be sound. */
export async function isLost(response: Response, from: Answerer): Promise<boolean> {
  if (from === "store") return response.status === 416 && storesWord(await said(response.clone())) === "InvalidRange";
  return LOST.has(await problemName(response.clone()));
}

/** Whether it is a gateway that says yes: a page to log in at, of what stands before it, says so too, and has stored nothing. */
export function isOfGateway(method: string, { status, headers }: Response): boolean {
  return !headers.get("content-type")?.startsWith("text/html") && (method !== "PUT" || status === 201);
}

/** What a refusal is to a person, and whether it may pass. */
export async function refused(response: Response, from: Answerer = "gateway"): Promise<Error> {
  const { status } = response;
  const after = Number(response.headers.get("retry-after")) || null;
  if (from === "store") {
    const word = storesWord(await said(response));
    if (word === "NoSuchBucket") return failure("server-failed");
    if (status === 507 || STORE_FULL.has(word)) return failure("server-full");
    if (PASSING_STATUS.has(status) || STORE_PASSING.has(word) || isAnybodys(status)) return new Passing(problem(status === 429 ? "busy" : "server-gone"), after);
    return failure(status === 401 || status === 403 ? "not-permitted" : "server-failed");
  }
  const name = await problemName(response);
  if (PASSING.has(name)) return new Passing(problem(name === "store-gone" ? "server-gone" : "busy"), after);
  const known = REFUSALS[name];
  if (known) return failure(known);
  // What the gateway does not name is of what stands before it.
  if (PASSING_STATUS.has(status) || (name === "" && isAnybodys(status))) {
    return new Passing(problem(status === 429 || status === 409 ? "busy" : "server-gone"), after);
  }
  return failure(status === 401 || status === 403 ? "not-permitted" : "server-failed");
}

/** The name of the problem that a gateway's answer tells of; empty if it is none of a gateway. */
async function problemName(response: Response): Promise<string> {
  // The answer to HEAD has no body.
  const named = response.headers.get("copal-problem");
  if (named !== null) return named;
  const body = parsed(await said(response)) as { type?: unknown } | null;
  return typeof body?.type === "string" && body.type.startsWith(TYPES) ? body.type.slice(TYPES.length) : "";
}

/** S3's word for what is wrong; empty if the text is none of S3. */
function storesWord(text: string): string {
  return /<Code>([A-Za-z0-9.]{1,100})<\/Code>/.exec(text)?.[1] ?? "";
}

/** The beginning of what a refusal says. */
async function said(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return "";
  const [decoder, pieces] = [new TextDecoder(), [] as string[]];
  try {
    for (let length = 0; length < SAID_MOST; ) {
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(decoder.decode(value, { stream: true }));
      length += value.length;
    }
  } catch {
    // What broke off says as much as it says.
  }
  void reader.cancel().catch(() => {});
  return pieces.join("");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What a gateway says by name only. */
function isAnybodys(status: number): boolean {
  return status === 404 || (status >= 500 && status !== 501 && status !== 507);
}

/** How far this clock is ahead of the gateway's, if that is what it refuses. */
export async function clockAhead(response: Response): Promise<number | null> {
  const body = (await response.json().catch(() => null)) as { type?: unknown; ahead?: unknown } | null;
  return body?.type === `${TYPES}clock` && typeof body.ahead === "number" ? body.ahead : null;
}

const TYPES = "urn:copal:problem:";
const LOST = new Set(["out-of-range", "store-failed", "damaged"]);
const ABSENT = new Set(["not-found", "undecided"]);
const PASSING = new Set(["busy", "slow", "replayed", "store-gone"]);
const PASSING_STATUS = new Set([408, 409, 429, 502, 503, 504]);
const STORE_FULL = new Set(["QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded"]);
/** Cut short or altered on the way. */
const STORE_PASSING = new Set(["SlowDown", "RequestTimeout", "IncompleteBody", "BadDigest", "XAmzContentChecksumMismatch"]);
/** Characters of a refusal that are looked at. */
const SAID_MOST = 64 << 10;
const REFUSALS: Record<string, ProblemCode> = {
  "signature-missing": "not-permitted",
  "signature-malformed": "internal",
  "signature-wrong": "device-unknown",
  "signature-long": "internal",
  clock: "clock-wrong",
  "client-unknown": "device-unknown",
  "client-revoked": "device-revoked",
  "client-unsound": "device-unknown",
  "enrollment-used": "enrollment-used",
  "enrollment-expired": "enrollment-expired",
  "not-permitted": "not-permitted",
  quota: "quota",
  "shares-full": "shares-full",
  "no-repository": "no-repository",
  full: "server-full",
  "store-failed": "server-failed",
  damaged: "repository-damaged",
  "job-running": "job-running",
  "job-rested": "job-rested",
  "not-here": "not-here",
  "too-large": "internal",
  "bad-request": "internal",
};
