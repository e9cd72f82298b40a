//! Words for what goes wrong.

import { ShareError, type Why } from "../core/share/read";

export interface Trouble {
  title: string;
  advice: string;
  canRetry: boolean;
}

export function trouble(error: unknown): Trouble {
  if (error instanceof ShareError) return OF_SHARE[error.why];
  if (error instanceof DOMException && error.name === "QuotaExceededError") return { title: "There is no room", advice: "Choose a place with more room.", canRetry: true };
  return { title: "It could not be saved", advice: "Try again, or choose another place.", canRetry: true };
}

const OF_SHARE: Record<Why, Trouble> = {
  gone: { title: "This link opens nothing", advice: "It has ended, was opened as often as it may be, or was revoked. Ask whoever sent it for a new one.", canRetry: false },
  altered: { title: "What the server gave is not what was shared", advice: "Bytes are missing or were changed on the way. Nothing of them was handed to you. Tell whoever sent the link.", canRetry: true },
  away: { title: "The server does not answer", advice: "Try again in a moment.", canRetry: true },
  busy: { title: "The server is busy", advice: "Try again in a minute.", canRetry: true },
};
