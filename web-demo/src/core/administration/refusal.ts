//! Refusal: what the engine refuses here only.

import type { AdministrationCode } from "../administration";
import { failure } from "../problem";

/** Has the engine do what it may refuse; its codes that are met here only become ours. */
export function asked<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    const code = (thrown as { code?: unknown } | null)?.code;
    throw typeof code === "string" && code in OF_ENGINE ? failure(OF_ENGINE[code]!) : thrown;
  }
}

const OF_ENGINE: Record<string, AdministrationCode> = {
  "key-in-use": "key-in-use",
  "last-key": "last-key",
  absent: "key-gone",
  "bad-invitation": "invitation-malformed",
};
