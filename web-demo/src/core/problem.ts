//! Problems: what can go wrong, by codes; the page has words for each. Never a secret, never an address with its query.

import type { CopalError as CopalErrorFace, Problem, ProblemCode } from "./api";

/** An error that is told to a person. */
export class CopalError extends Error implements CopalErrorFace {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.code);
    this.name = "CopalError";
    this.problem = problem;
  }
}

/** Makes the error of a code; the subject is the path, object or number that it is about. */
export function failure(code: ProblemCode, subject: string | null = null): CopalError {
  return new CopalError(problem(code, subject));
}

/** Makes the problem of a code. */
export function problem(code: ProblemCode, subject: string | null = null): Problem {
  return { code, subject, canRetry: WORTH_ANOTHER_TRY.has(code) };
}

/** What anything that was thrown is to a person. What nobody foresaw is told without its text, which may hold anything. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof CopalError) return thrown.problem;
  if (isProblem(thrown)) return thrown;
  if (thrown instanceof DOMException) {
    const code = OF_BROWSER[thrown.name];
    if (code) return problem(code);
  }
  const code = (thrown as { code?: unknown } | null)?.code;
  if (typeof code === "string" && code in OF_ENGINE) return problem(OF_ENGINE[code]!, null);
  return problem("internal", thrown instanceof Error ? thrown.name : null);
}

function isProblem(value: unknown): value is Problem {
  return typeof value === "object" && value !== null && "code" in value && "subject" in value && "canRetry" in value;
}

/** What the browser's own exceptions are. */
const OF_BROWSER: Record<string, ProblemCode> = {
  AbortError: "cancelled",
  NotAllowedError: "folder-permission",
  SecurityError: "folder-permission",
  NotFoundError: "folder-gone",
  NotReadableError: "file-unreadable",
  QuotaExceededError: "browser-full",
  NoModificationAllowedError: "elsewhere",
};

/** What the engine's codes are; those that are missing are mistakes of this page. */
const OF_ENGINE: Record<string, ProblemCode> = {
  "wrong-passphrase": "passphrase-wrong",
  "bad-passphrase": "passphrase-empty",
  "bad-recovery-code": "code-malformed",
  "slot-damaged": "repository-damaged",
  "no-memory": "unsupported",
  "descriptor-damaged": "repository-damaged",
  "other-owner": "other-owner",
  "unsupported-version": "repository-newer",
  "bad-enrollment": "enrollment-malformed",
  "enrollment-used": "enrollment-used",
  "client-revoked": "device-revoked",
  "client-unknown": "device-unknown",
  "client-damaged": "repository-damaged",
  "kept-damaged": "device-unknown",
  damaged: "damaged",
  absent: "damaged",
  "needs-owner": "not-permitted",
  "bad-path": "entry-gone",
  "bad-id": "snapshot-gone",
  rejected: "manifest-rejected",
  "chain-lost": "state-older",
  "bad-tags": "tags-malformed",
  "bad-policy": "policy-malformed",
};

/** Codes of what may have passed by the next try. */
const WORTH_ANOTHER_TRY: ReadonlySet<ProblemCode> = new Set([
  "offline", "server-gone", "server-failed", "part-gone", "busy", "clock-wrong", "no-repository", "repository-damaged", "repository-newer",
  "name-taken", "quota", "server-full", "browser-full", "file-unreadable", "job-running", "job-rested", "manifest-rejected",
  "state-older", "target-failed", "elsewhere", "internal",
]);
