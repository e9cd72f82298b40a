//! Problems: what can go wrong, in words for a person. Never a secret, never an address with its query.

import type { AdministrationCode, CopalError as CopalErrorFace, Problem, ProblemCode } from "./api";

/** An error that is told to a person. */
export class CopalError extends Error implements CopalErrorFace {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.title);
    this.name = "CopalError";
    this.problem = problem;
  }
}

/** The problems that every page may meet; those of administration are loaded with it. */
export type UsualCode = Exclude<ProblemCode, AdministrationCode>;

/** Makes the error of a code; the subject is the path, object or number that it is about. */
export function failure(code: UsualCode, subject: string | null = null): CopalError {
  return new CopalError(problem(code, subject));
}

/** Makes the problem of a code. */
export function problem(code: UsualCode, subject: string | null = null): Problem {
  const [title, advice, canRetry] = WORDS[code];
  return { code, title, advice, subject, canRetry };
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
  return typeof value === "object" && value !== null && "code" in value && "title" in value && "advice" in value;
}

/** What the browser's own exceptions are. */
const OF_BROWSER: Record<string, UsualCode> = {
  AbortError: "cancelled",
  NotAllowedError: "folder-permission",
  SecurityError: "folder-permission",
  NotFoundError: "folder-gone",
  NotReadableError: "file-unreadable",
  QuotaExceededError: "browser-full",
  NoModificationAllowedError: "elsewhere",
};

/** What the engine's codes are; those that are missing are mistakes of this page. */
const OF_ENGINE: Record<string, UsualCode> = {
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

const WORDS: Record<UsualCode, [title: string, advice: string, canRetry: boolean]> = {
  unsupported: ["This browser lacks something that Copal needs", "Use a current Chrome, Edge, Firefox or Safari, over https.", false],
  offline: ["There is no connection", "Everything waits here and goes on by itself once the network is back.", true],
  "server-gone": ["The server does not answer", "It may be restarting. Copal keeps trying; nothing is lost meanwhile.", true],
  "server-failed": ["The server reports a failure of its own", "Try again in a moment. If it stays, its operator finds the reason in the server's log.", true],
  busy: ["The server is busy", "Copal tries again by itself.", true],
  "clock-wrong": ["This device's clock is wrong, or the server's is", "Set date and time of this device right, then try again.", true],
  "no-repository": ["There is no repository at this server yet", "Make one with the command \"copal init\" first.", true],
  "slots-costly": ["A key slot asks for more memory than a browser should give", "If it is yours, open the repository with the copal command and --unlock-memory. If not, somebody else has written to the storage.", false],
  "slots-closed": ["This server does not let a browser in by passphrase alone", "Ask its operator to run \"copal serve --open-slots\", or its owner for an enrollment link.", false],
  "other-owner": ["This repository belongs to somebody else than before", "Do not enter your passphrase. Ask whoever runs the server what has changed.", false],
  "repository-damaged": ["What describes this repository is damaged", "Run \"copal check\" and \"copal repair\" beside the repository.", true],
  "repository-newer": ["This repository is of a newer version than this page", "Reload the page; if that does not help, the server needs a newer Copal.", true],
  "passphrase-wrong": ["That is not the passphrase", "Check capitals and the keyboard's language, or use the recovery code.", false],
  "passphrase-empty": ["The passphrase is empty", "Type the passphrase of the repository.", false],
  "passphrase-needed": ["This enrollment is of a full device", "Enter the passphrase of the repository as well.", false],
  "seal-needs-passphrase": ["Only the passphrase can seal the list of snapshots", "Lock the page, and unlock it with the passphrase instead of the recovery code.", false],
  "code-malformed": ["That is not a whole recovery code", "Compare it with the paper, group by group.", false],
  "enrollment-malformed": ["That is not a whole enrollment", "Copy the link or line again, from its beginning to its end.", false],
  "enrollment-used": ["Somebody has joined with this enrollment already", "If that was not you, tell the owner to revoke it. Either way, ask for a new one.", false],
  "enrollment-expired": ["This enrollment has expired", "It can be used for a limited time only. Ask the owner for a new one.", false],
  "enrollment-unknown": ["The repository knows no such enrollment", "Ask the owner for a new one.", false],
  "enrollment-elsewhere": ["This enrollment is for another repository", "Open it at the address that the owner named.", false],
  "enrollment-unfinished": ["Joining was interrupted before it was done", "Use the enrollment line or link once more: this browser goes on with it.", false],
  "name-taken": ["Another device has this name", "Give this browser a name of its own, so that you can tell their backups apart.", true],
  "device-revoked": ["The owner has revoked this device", "Ask the owner for a new enrollment if that was a mistake.", false],
  "device-unknown": ["The repository does not know this device any more", "Ask the owner for a new enrollment, or unlock with the passphrase.", false],
  "not-permitted": ["The server does not permit that to this device", "Ask whoever runs the server.", false],
  quota: ["The room that was granted to this device is used up", "Ask whoever runs the server for more, or let old snapshots expire.", true],
  "server-full": ["The server's disk is full", "What is uploaded stays. Once there is room, start the backup again: it goes on from there.", true],
  "browser-full": ["The browser grants no more room for private files", "Free some space on this device, or save with \"ask where\".", true],
  "folder-gone": ["The folder is not there any more", "Choose it again.", false],
  "folder-permission": ["The browser may not open this folder", "Choose it again and allow access when the browser asks.", false],
  "file-unreadable": ["A file could not be read", "It may be open in another program, moved or deleted.", true],
  "nothing-to-back-up": ["There is no file in it", "Choose another folder, or leave out less.", false],
  "job-running": ["The service is at work on another job", "Wait until it has ended. One job runs at a time.", true],
  "job-rested": ["A job ran just now", "Wait a minute before you start another one.", true],
  "not-here": ["This service does not do that", "Ask whoever runs the server. It may do it by a schedule of its own, or not at all.", false],
  "manifest-rejected": ["The service has rejected what was uploaded", "Start the backup again: what is good stays and is not uploaded twice.", true],
  "state-older": ["The server shows an older state than this browser has seen", "Nothing was signed. Ask whoever runs the server whether it was restored from a copy; \"copal check\" says what is missing.", true],
  "tags-malformed": ["These tags cannot be set", "A tag has at most 4,096 bytes, and a snapshot at most 1,024 tags.", false],
  "policy-changed": ["Somebody has set other rules meanwhile", "Nothing was signed. Look at the rules in force, and decide again.", false],
  "policy-malformed": ["These rules cannot be set", "Look at the numbers and spans again.", false],
  damaged: ["Something stored is damaged", "Run \"copal check --read-data\" beside the repository: then the next backup of a folder that still has the data mends it.", false],
  "snapshot-gone": ["That snapshot is not there any more", "It was forgotten or expired meanwhile. Look at the list again.", false],
  "entry-gone": ["The snapshot has no such entry", "Look at the folder again.", false],
  "share-too-large": ["That is more than one link can share", "A link shares at most 4 GiB and 50,000 files and folders. Choose less.", false],
  "shares-full": ["There are as many shares as this server keeps", "Revoke some that nobody needs any more.", false],
  "nothing-to-share": ["There is no file in it", "Choose something that holds files.", false],
  "target-failed": ["The browser could not write there", "Choose another place with enough room.", true],
  cancelled: ["It was cancelled", "", false],
  locked: ["The repository is locked", "Unlock it again.", false],
  "storage-short-lived": ["This browser may forget that it is a device", "It has not promised to keep what this page stores. If its disk fills up, or nobody opens the page for long, it may delete this device's keys and the folders it remembers. The repository keeps every backup; you would unlock or enroll this browser again.", false],
  elsewhere: ["Another tab is at work with this repository", "Go on there, or close it.", true],
  internal: ["Something went wrong that should not", "Reload the page and try again; nothing that was stored is lost.", true],
};
